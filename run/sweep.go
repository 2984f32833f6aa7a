package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"batch.example/batch/fault"
	"batch.example/batch/results"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/run/rundir"
	"batch.example/batch/runner"
	"batch.example/batch/sandbox"
)

// Cell is one run of a sweep.
type Cell struct {
	Name string // unique among the cells; for people and logs
	Config
}

// Sweep is several runs that work at the same time, over mostly the same instances: the
// cells of a grid of models, configurations and attempts. They share the engine, the images,
// the workers and a cost limit, and take turns: an instance runs in all cells before the
// next one begins, so that its image is pulled once. What they share of their models' keys
// is up to the caller: see [Access].
//
// Each run is an ordinary one, in a directory of its own. A fault that concerns one of them
// does not stop the others.
type Sweep struct {
	SweepConfig
	runs   []*Run
	unlock func() error
}

// SweepConfig says what a sweep is. Width, Grading.Width and Sandboxes (except what belongs
// to the containers) are expected to be the same in all cells.
type SweepConfig struct {
	Dir       string // the sweep's folder, for its lock and batch.log; it exists
	Cells     []Cell
	Locked    func() error // called when the folder is locked, before the cells are opened; nil ignores
	CostLimit float64      // US dollars that all cells may cost together; 0: no limit. Those of the cells have no effect
	Spent     float64      // US dollars of CostLimit that cells which are not among Cells have spent
}

// OpenSweep locks the sweep's folder and opens the runs of all cells, or none. The caller
// must Close the Sweep.
func OpenSweep(ctx context.Context, c SweepConfig) (*Sweep, error) {
	unlock, err := results.Lock(c.Dir, rundir.Owner())
	if err != nil {
		return nil, err
	}
	s := &Sweep{SweepConfig: c, unlock: unlock}
	if c.Locked != nil {
		if err := c.Locked(); err != nil {
			_ = s.Close() // the error says more
			return nil, err
		}
	}
	for _, cell := range c.Cells {
		r, err := Open(ctx, cell.Config)
		if err != nil {
			_ = s.Close() // the error says more
			return nil, fmt.Errorf("%s: %w", cell.Name, err)
		}
		s.runs = append(s.runs, r)
	}
	return s, nil
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

// Spent returns the US dollars that the sweep has cost so far.
func (s *Sweep) Spent() float64 {
	spent := s.SweepConfig.Spent
	for _, r := range s.runs {
		spent += r.store.Spent()
	}
	return spent
}

// Cost is Spent without calls of its cells that were not answered.
func (s *Sweep) Cost() float64 {
	cost := s.SweepConfig.Spent
	for _, r := range s.runs {
		cost += r.store.Cost()
	}
	return cost
}

// Close closes the runs and unlocks the folder. It may be called twice.
func (s *Sweep) Close() error {
	var errs []error
	for _, r := range s.runs {
		errs = append(errs, r.Close())
	}
	return errors.Join(append(errs, s.unlock())...)
}

// SweepView shows a sweep to a person while it works.
type SweepView interface {
	Say(text string)
	Log() slog.Handler // of what concerns no cell alone; nil: nothing
	Cell(i int) View   // of the cell with this index
}

// Work runs the instances that are left in all cells, as [Run.Work] does in one. The error
// names the cells that it concerns.
func (s *Sweep) Work(ctx context.Context, drain <-chan struct{}, v SweepView) (err error) {
	if s.Todo() == 0 {
		return nil
	}
	first := s.Cells[0]
	log, closeLog, err := rundir.OpenLog(s.Dir, first.Store.Mask, v.Log())
	if err != nil {
		return err
	}
	defer closeLog()
	order := s.order()
	boxes, err := sandbox.Share(ctx, s.sharedConfig(drain, v, log), s.sandboxTurns(order))
	if err != nil {
		return err
	}
	defer func() {
		if err := boxes.Close(ctx); err != nil {
			log.Error("closing the connection to the engine", "err", err)
		}
	}()
	jobs := newTurns(order)
	budget, share, err := s.budget()
	if err != nil {
		return err
	}
	if share != nil {
		defer func() { err = errors.Join(err, share.Close()) }()
	}
	errs := make([]error, len(s.runs))
	var working sync.WaitGroup
	for i, r := range s.runs {
		working.Go(func() {
			defer jobs.leave(i)
			defer boxes.Skip(s.Cells[i].Name, r.todo)
			errs[i] = r.work(ctx, drain, v.Cell(i), &shared{
				name: s.Cells[i].Name, boxes: boxes, budget: budget, jobs: &turnsOf{turns: jobs, run: i},
			})
		})
	}
	working.Wait()
	return s.joined(errs)
}

// shared is what a run has in common with the others of its sweep.
type shared struct {
	name   string // of the cell
	boxes  *sandbox.Shared
	budget *runner.Budget
	jobs   *turnsOf
}

// order returns the instances that are left, in the order of one run over all of them, each
// with its turns.
func (s *Sweep) order() []turn {
	var all []Planned
	seen := map[string]bool{}
	todo := make([]map[string]bool, len(s.runs))
	for i, r := range s.runs {
		todo[i] = map[string]bool{}
		for _, in := range r.todo {
			todo[i][in.ID] = true
		}
		for _, in := range r.Instances {
			if !seen[in.ID] {
				seen[in.ID] = true
				all = append(all, Planned{Instance: in})
			}
		}
	}
	if first := s.runs[0]; first.ByImage {
		all = byImage(all, first.Sandboxes.Prefix)
	}
	var order []turn
	for _, in := range all {
		for i := range s.runs {
			if todo[i][in.ID] {
				order = append(order, turn{i, in.Instance})
			}
		}
	}
	return order
}

func (s *Sweep) sandboxTurns(order []turn) []sandbox.Turn {
	list := make([]sandbox.Turn, len(order))
	for i, t := range order {
		list[i] = sandbox.Turn{Host: s.Cells[t.run].Name, Instance: t.Instance}
	}
	return list
}

// sharedConfig says which engine the runs share, and how.
func (s *Sweep) sharedConfig(drain <-chan struct{}, v SweepView, log *slog.Logger) sandbox.Config {
	c := s.runs[0].Sandboxes
	c.Drain, c.Notify, c.Log = drain, v.Say, log
	return c
}

// budget returns the limit over all cells. A call is expected to cost what the most expensive
// one of any cell did. Share is nil if there is no limit; otherwise it must be closed.
func (s *Sweep) budget() (b *runner.Budget, share *sweeps.Share, err error) {
	var estimate, guess, spent float64
	for _, r := range s.runs {
		estimate = max(estimate, callEstimate(r.store.Records()))
		guess = max(guess, r.guess())
		spent += r.store.Spent()
	}
	b = runner.NewBudget(s.CostLimit, spent, estimate)
	b.Guess(guess)
	if s.CostLimit > 0 {
		cells := make([]string, len(s.Cells))
		for i, c := range s.Cells {
			cells[i] = c.Name
		}
		if share, err = sweeps.OpenShare(s.Dir, cells, spent); err != nil {
			return nil, nil, err
		}
		b.Share(share)
	}
	return b, share, nil
}

// joined returns the errors of the cells as one, with the names of the cells. Those that
// several cells have are in it once. It is a cancellation only if no cell failed otherwise.
func (s *Sweep) joined(errs []error) error {
	failed := slices.ContainsFunc(errs, func(err error) bool { return err != nil && !fault.Canceled(err) })
	cells := map[string][]string{}
	var list []error
	for i, err := range errs {
		if err == nil || failed && fault.Canceled(err) {
			continue
		}
		if cells[err.Error()] == nil {
			list = append(list, err)
		}
		cells[err.Error()] = append(cells[err.Error()], s.Cells[i].Name)
	}
	for i, err := range list {
		if !fault.Canceled(err) {
			list[i] = fmt.Errorf("%s: %w", strings.Join(cells[err.Error()], ", "), err)
		}
	}
	return errors.Join(list...)
}
