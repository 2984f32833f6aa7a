package run

import (
	"context"
	"errors"
	"fmt"

	"batch.example/batch/results"
	"batch.example/batch/run/control"
	"batch.example/batch/run/rundir"
)

// Cell is one run of a sweep.
type Cell struct {
	Name string // unique among the cells; for people and logs
	Config
}

// Sweep is several runs that work at the same time, over mostly the same instances: the
// cells of a grid of models, configurations and attempts. They share the engine, the images,
// the workers and a cost limit, and take turns: an instance runs in all cells before the
// next one begins, so that its image is pulled once. The caller decides whether they share
// the limits of their models' keys: see [Access].
//
// Each run is an ordinary one, in a directory of its own. A fault that concerns only one
// run does not stop the others.
type Sweep struct {
	SweepConfig
	*group
	unlock func() error
}

// SweepConfig describes a sweep. Width, Grading.Width and Sandboxes (except the settings of
// containers) must be the same in all cells.
type SweepConfig struct {
	Control   *control.Begin // as in [Config]; the cells' own has no effect
	Dir       string         // the sweep's folder, for its lock and batch.log; it exists
	Cells     []Cell
	Locked    func() error // called when the folder is locked, before the cells are opened; nil ignores
	CostLimit float64      // US dollars that all cells may cost together; 0: no limit. The cells' own limits have no effect
	Spent     float64      // US dollars of CostLimit that other cells than Cells have spent
}

// OpenSweep locks the sweep's folder and opens the runs of all cells, or none. The caller
// must Close the Sweep.
func OpenSweep(ctx context.Context, c SweepConfig) (*Sweep, error) {
	unlock, err := results.Lock(c.Dir, rundir.Owner())
	if err != nil {
		return nil, err
	}
	s := &Sweep{SweepConfig: c, unlock: unlock, group: &group{
		kind: control.KindSweep, dir: c.Dir, spent: c.Spent, limit: rundir.Limit{USD: c.CostLimit, Sweep: c.Dir},
	}}
	if err := s.open(ctx); err != nil {
		_ = s.Close() // the error says more
		return nil, err
	}
	return s, nil
}

func (s *Sweep) open(ctx context.Context) (err error) {
	if s.Locked != nil {
		if err := s.Locked(); err != nil {
			return err
		}
	}
	if s.log, err = openCommands(s.Dir, s.Control); err != nil {
		return err
	}
	for _, cell := range s.Cells {
		if _, err := s.group.open(ctx, cell.Name, cell.Config); err != nil {
			return fmt.Errorf("%s: %w", cell.Name, err)
		}
		s.limit.Cells = append(s.limit.Cells, cell.Name)
	}
	s.opened(s.Control)
	return nil
}

// Runs returns the runs of the cells, in their order. Their Work must not be called.
func (s *Sweep) Runs() []*Run { return s.runs }

// Todo returns how many attempts at instances and how many gradings are left, in all cells.
func (s *Sweep) Todo() (n int) {
	for _, r := range s.runs {
		n += r.Todo() + r.ToGrade()
	}
	return n
}

// Cost returns the US dollars of all answered calls of the sweep so far.
func (s *Sweep) Cost() float64 { return s.cost() }

// Close closes the runs and unlocks the folder. It may be called twice.
func (s *Sweep) Close() error {
	var errs []error
	for _, r := range s.runs {
		errs = append(errs, r.Close())
	}
	return errors.Join(append(errs, s.unlock())...)
}

// Pending returns how many instances and gradings Work left in all cells, because it was
// interrupted or stopped.
func (s *Sweep) Pending() (n int) {
	for _, r := range s.runs {
		n += r.Pending()
	}
	return n
}

// Unfinished returns how many instances of all cells have no result, or no verdict if the sweep
// grades.
func (s *Sweep) Unfinished() (n int) {
	for _, r := range s.runs {
		n += r.Unfinished()
	}
	return n
}
