package steering

import (
	"batch.example/batch/imagecache"
	"batch.example/batch/run/rundir"
	"batch.example/batch/runner"
)

// view is a View that also keeps the state of the workers.
type view struct {
	rundir.View
	s    *Steering
	cell string // of a sweep; empty: none
}

func (v view) name(id string) string {
	if v.cell == "" {
		return id
	}
	return v.cell + "/" + id
}

// Event implements [rundir.View].
func (v view) Event(e runner.Event) {
	v.s.workers.event(v.cell, v.name(e.Job), e)
	v.View.Event(e)
}

// Pulled implements [rundir.View].
func (v view) Pulled(instance string, p imagecache.Progress) {
	v.s.workers.pulled(v.name(instance))
	v.View.Pulled(instance, p)
}

// Progress implements [rundir.View].
func (v view) Progress(p rundir.Progress) {
	if v.cell == "" && !p.Ended {
		v.s.workers.begin(p.Done, p.Total)
	}
	v.View.Progress(p)
}

// Cell implements [rundir.View].
func (v view) Cell(name string) rundir.View { return view{v.View.Cell(name), v.s, name} }
