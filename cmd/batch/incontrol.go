package main

import (
	"batch.example/batch/dataset"
	"batch.example/batch/run"
	"batch.example/batch/run/control"
)

// underControl gives a request the width and the cost limit that batch ctl set in dir, unless the
// command line has others. It returns what the command line has.
func (f *runFlags) underControl(dir string, r *run.Request) (*control.Begin, error) {
	h, err := run.ReadControl(dir)
	if err != nil {
		return nil, err
	}
	in, begin := h.InForce(), control.Begin{}
	part, err := dataset.ParseShard(r.Shard)
	if err != nil {
		return nil, err
	}
	switch {
	case f.was("workers"):
		begin.Width = max(1, r.Workers)
	case in.Width > 0:
		r.Workers = in.Width
	}
	switch {
	case f.was("cost-limit-total"):
		limit := r.CostLimit / float64(max(1, part.N))
		begin.Budget = &limit
	case in.Budget != nil:
		r.CostLimit = *in.Budget * float64(max(1, part.N))
	}
	return &begin, nil
}

// limitNow returns the cost limit of work in dir that has ended: batch ctl may have changed it.
func limitNow(dir string, limit float64, part dataset.Shard) float64 {
	if h, err := run.ReadControl(dir); err == nil && h.InForce().Budget != nil {
		return *h.InForce().Budget * float64(max(1, part.N))
	}
	return limit
}

// was reports whether a flag was given.
func (f *runFlags) was(flag string) bool { return f.given != nil && f.given(flag) }

// underControl is like underControl of a run, for all cells.
func (s *sweeping) underControl() (err error) {
	for i := range s.Cells {
		r := &s.Cells[i].Run
		if s.Control, err = s.flags.underControl(s.Dir, r); err != nil {
			return err
		}
		s.LimitCost(r.CostLimit)
	}
	return nil
}
