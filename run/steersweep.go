package run

import (
	"cmp"

	"batch.example/batch/run/control"
	"batch.example/batch/run/rundir"
	"batch.example/batch/run/steering"
)

// cellControl is the part of a sweep's control that one cell knows.
type cellControl struct {
	log  *control.Log
	name string
}

// steer prepares the steering of work that begins; nil: other programs cannot steer it.
func (s *Sweep) steer() rundir.Steerer {
	if s.log == nil {
		return nil
	}
	c := steering.Config{
		Kind: control.KindSweep, Dir: s.Dir, Log: s.log, Given: *s.Control, Width: s.Cells[0].Width, Limit: s.CostLimit,
		Cost: s.Cost, Spent: s.Spent, Mask: s.Cells[0].Store.Mask,
		Fits: func(n int) error {
			var err error
			for _, r := range s.runs {
				err = cmp.Or(err, r.fits(n))
			}
			return err
		},
	}
	for _, r := range s.runs {
		r.preparePart()
		c.Unpriced = c.Unpriced || r.Model.Unpriced
		c.Parts = append(c.Parts, r.part)
	}
	s.by = steering.New(c)
	for _, r := range s.runs {
		r.by = s.by
	}
	return s.by
}

// Drained reports whether a command of another program drained or stopped the work.
func (s *Sweep) Drained() bool { return s.by != nil && s.by.Drained() }

// Unfinished returns how many instances of all cells have no result, or no verdict if the sweep
// grades.
func (s *Sweep) Unfinished() (n int) {
	for _, r := range s.runs {
		n += r.Unfinished()
	}
	return n
}

// Conclude is like [Run.Conclude].
func (s *Sweep) Conclude(pid, code int) error {
	if s.by == nil {
		return nil
	}
	return s.log.End(control.End{PID: pid, Code: code})
}
