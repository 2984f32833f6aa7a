package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"batch.example/batch/fault"
	"batch.example/batch/results"
	"batch.example/batch/run/control"
	"batch.example/batch/run/rundir"
	"batch.example/batch/run/steering"
	"batch.example/batch/runner"
	"batch.example/batch/sandbox"
	"batch.example/batch/vocab"
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
	log    *control.Log // nil: other programs cannot control it
	by     *steering.Steering
	runs   []*Run
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
	s := &Sweep{SweepConfig: c, unlock: unlock}
	if c.Locked != nil {
		if err := c.Locked(); err != nil {
			_ = s.Close() // the error says more
			return nil, err
		}
	}
	if c.Control != nil {
		if s.log, err = control.OpenLog(c.Dir); err != nil {
			_ = s.Close() // the error says more
			return nil, err
		}
	}
	for _, cell := range c.Cells {
		if cell.Control = nil; s.log != nil {
			cell.cell = &cellControl{s.log, cell.Name}
		}
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

// Cost returns Spent without the cells' unanswered calls.
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

// Pending returns how many instances and gradings Work left in all cells, because it was
// interrupted or stopped.
func (s *Sweep) Pending() (n int) {
	for _, r := range s.runs {
		n += r.Pending()
	}
	return n
}

// Work runs the instances that are left in all cells, as [Run.Work] does in one. The error
// names the cells that it concerns.
func (s *Sweep) Work(ctx context.Context, drain <-chan struct{}, show func(vocab.Event)) error {
	if s.Todo() == 0 {
		return nil
	}
	order := s.order()
	var boxes *sandbox.Shared
	return rundir.Job{
		Dir: s.Dir, Mask: s.Cells[0].Store.Mask, Boxes: s.runs[0].Sandboxes, Steer: s.steer(),
		Connect: func(ctx context.Context, c sandbox.Config) (_ rundir.Engine, err error) {
			boxes, err = sandbox.Share(ctx, c, s.hostInstances(order))
			return boxes, err
		},
		Pool: func(ctx context.Context, pool runner.Config, v rundir.View) error {
			jobs := newSlots(order)
			jobs.linger = s.by != nil
			return s.work(ctx, pool.Drain, v, boxes, jobs)
		},
		Progress: s.progress,
	}.Work(ctx, drain, rundir.NewView(show))
}

// work works in all cells.
func (s *Sweep) work(ctx context.Context, drain <-chan struct{}, v rundir.View, boxes *sandbox.Shared, jobs *slots) (err error) {
	limit := rundir.Limit{USD: s.CostLimit, Sweep: s.Dir}
	for _, c := range s.Cells {
		limit.Cells = append(limit.Cells, c.Name)
	}
	budget, done, err := limit.Open(s.costs())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	if s.by != nil {
		s.by.Opened(budget)
	}
	errs := make([]error, len(s.runs))
	var working sync.WaitGroup
	for i, r := range s.runs {
		name := s.Cells[i].Name
		working.Go(func() {
			defer jobs.leave(i)
			defer boxes.Skip(name, r.todo)
			errs[i] = r.work(ctx, drain, v.Cell(name), &shared{
				name: name, boxes: boxes, budget: budget, jobs: &slotsOf{slots: jobs, run: i},
			})
		})
	}
	working.Wait()
	return s.joined(errs)
}

// progress returns the progress of all cells together.
func (s *Sweep) progress() vocab.Event {
	e := vocab.Event{Cost: s.Spent(), Outcomes: map[string]int{}}
	for _, r := range s.runs {
		sum := r.Summary()
		lost := results.UnansweredOf(sum.Records)
		e.Lost, e.Held = e.Lost+lost.Lost, e.Held+lost.Held
		e.Done, e.Total = e.Done+len(sum.Asked)-sum.Missing, e.Total+len(sum.Asked)
		for outcome, n := range sum.Outcomes() {
			e.Outcomes[outcome] += n
		}
	}
	return e
}

// costs returns the costs of all cells. A call is expected to cost as much as the most expensive
// call of any cell.
func (s *Sweep) costs() (all rundir.Costs) {
	for _, r := range s.runs {
		c := r.costs()
		all.Spent += c.Spent
		all.Highest, all.Guess = max(all.Highest, c.Highest), max(all.Guess, c.Guess)
	}
	return all
}

// shared has the parts that a run shares with the other runs of its sweep.
type shared struct {
	name   string // of the cell
	boxes  *sandbox.Shared
	budget *runner.Budget
	jobs   *slotsOf
}

// order returns the instances that are left, in the order of one run over all of them, each
// with its turns.
func (s *Sweep) order() []slot {
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
	var order []slot
	for _, in := range all {
		for i := range s.runs {
			if todo[i][in.ID] {
				order = append(order, slot{i, in.Instance})
			}
		}
	}
	return order
}

func (s *Sweep) hostInstances(order []slot) []sandbox.HostInstance {
	list := make([]sandbox.HostInstance, len(order))
	for i, t := range order {
		list[i] = sandbox.HostInstance{Host: s.Cells[t.run].Name, Instance: t.Instance}
	}
	return list
}

// joined joins the errors of the cells, with the names of the cells. An error of several
// cells is in it once. It is a cancellation only if no cell failed otherwise.
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
