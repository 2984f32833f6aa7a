package steering

import (
	"fmt"
	"slices"

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
	if e.Type == runner.EventEnd && e.Ending.State == runner.Final {
		v.unread(e.Job)
	}
}

// unread drops the messages for an instance that has a result, so that no later attempt reads what
// was said to this one. A person who watches is shown them.
func (v view) unread(id string) {
	i := slices.IndexFunc(v.s.Parts, func(p *Part) bool { return p.Name == v.cell })
	if i < 0 {
		return
	}
	for _, r := range v.s.Said(v.s.Parts[i], id) {
		v.s.say(fmt.Sprintf("say %s: the attempt ended before the agent read the message (%s)", v.name(id), by(r)))
		v.s.log.Warn("a person's message was not read: the attempt ended before", "instance", v.name(id), "id", r.ID)
		if err := v.s.Heard(v.s.Parts[i], r.ID); err != nil {
			v.s.log.Warn("not on record: that a message was not read", "instance", v.name(id), "id", r.ID, "err", err)
		}
	}
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
