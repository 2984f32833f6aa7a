package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/results"
	"batch.example/batch/run/control"
	"batch.example/batch/run/rundir"
	"batch.example/batch/run/steering"
	"batch.example/batch/runner"
	"batch.example/batch/sandbox"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/vocab"
)

// group has the runs that work together: the cells of a sweep, or a plain run, which is a group of its
// own. They share the engine, the order of their instances, a budget and what other programs command.
type group struct {
	kind  string // for package control
	dir   string // with batch.log and the commands: the sweep's folder, or the run's directory
	limit rundir.Limit
	spent float64 // US dollars by cells of the sweep that are not in the group
	runs  []*Run
	log   *control.Log
	money *runner.Budget // nil: the work has not begun
	by    *steering.Steering
	order []runner.Turn[dataset.Instance] // instances that are left
}

// open locks the directory of a run and adds the run. Name is the cell's.
func (g *group) open(ctx context.Context, name string, c Config) (*Run, error) {
	r, err := newRun(c)
	if err != nil {
		return nil, err
	}
	r.group, r.name = g, name
	if err := r.seed(); err != nil {
		return nil, err
	}
	_, err = rundir.Open(c.Output, c.Store, func(s *results.Store) error {
		r.read, r.store = s.Reader, s
		return r.prepare(ctx)
	})
	if err != nil {
		return nil, err
	}
	g.runs = append(g.runs, r)
	return r, nil
}

// opened prepares the work of the runs that are open. Begin is as in [Config.Control].
func (g *group) opened(begin *control.Begin) {
	first := g.runs[0]
	g.order = g.inOrder()
	turns := g.order
	if first.Serving {
		turns = nil
	}
	c := steering.Config{
		Kind: g.kind, Dir: g.dir, Log: g.log, Given: begin, Width: first.Width, Fits: g.fits, Limit: g.limit.USD,
		Cost: g.cost, Spent: g.total, Mask: first.Store.Mask,
	}
	for i, roster := range runner.TakeTurns(len(g.runs), turns) {
		r := g.runs[i]
		if r.roster = roster; r.Serving {
			roster.Hold()
		} else if r.idle() {
			roster.Close()
		}
		c.Unpriced = c.Unpriced || r.Model.Unpriced
		c.Parts = append(c.Parts, r.part)
	}
	g.by = steering.New(c)
}

// inOrder returns the instances that are left, in the order of one run over all of them, each
// with the turns of its runs.
func (g *group) inOrder() (order []runner.Turn[dataset.Instance]) {
	left := map[string][]int{} // by instance: the runs in which it is left
	for i, r := range g.runs {
		for _, in := range r.todo {
			left[in.ID] = append(left[in.ID], i)
		}
	}
	var all []Planned
	seen := map[string]bool{}
	for _, r := range g.runs {
		for _, in := range r.Instances {
			if left[in.ID] != nil && !seen[in.ID] {
				seen[in.ID] = true
				all = append(all, Planned{Instance: in})
			}
		}
	}
	if first := g.runs[0]; first.ByImage {
		all = byImage(all, first.Sandboxes.Prefix)
	}
	for _, in := range all {
		for _, i := range left[in.ID] {
			order = append(order, runner.Turn[dataset.Instance]{Pool: i, Job: in.Instance})
		}
	}
	return order
}

// fits refuses a width for which the process may not open enough files.
func (g *group) fits(width int) (err error) {
	for _, r := range g.runs {
		err = cmp.Or(err, checkFiles(min(width, len(r.Instances)), countImages(r.Instances), sandbox.OpenFiles()))
	}
	return err
}

// total returns the US dollars that the runs have cost, and other cells before.
func (g *group) total() float64 {
	spent := g.spent
	for _, r := range g.runs {
		spent += r.store.Spent()
	}
	return spent
}

// cost returns the total without unanswered calls.
func (g *group) cost() float64 {
	cost := g.spent
	for _, r := range g.runs {
		cost += r.store.Cost()
	}
	return cost
}

// costs returns the costs of earlier runs. A call is expected to cost as much as the most expensive
// call of any run.
func (g *group) costs() (all rundir.Costs) {
	for _, r := range g.runs {
		c := r.costs()
		all.Spent += c.Spent
		all.Highest, all.Guess = max(all.Highest, c.Highest), max(all.Guess, c.Guess)
	}
	return all
}

// Work runs the instances that are left; see [rundir.Job.Work]. Show is called with each event, from
// many goroutines at once; it may be nil. If ctx is canceled, the next run resumes the stopped
// instances. The Summary of a run says how each instance ended. An error names the cells of a sweep that it
// concerns.
func (g *group) Work(ctx context.Context, drain <-chan struct{}, show func(vocab.Event)) error {
	if len(g.working()) == 0 {
		return nil
	}
	first := g.runs[0]
	builds := map[string]engine.Build{} // all cells share the connection
	for _, r := range g.runs {
		maps.Copy(builds, r.Sandboxes.Options.Builds)
	}
	first.Sandboxes.Options.Builds = builds
	var boxes *sandbox.Shared
	err := rundir.Job{
		Dir: g.dir, Mask: first.Store.Mask, Boxes: first.Sandboxes, Steer: g.by,
		Begin: func(log *slog.Logger, v rundir.View) error {
			g.each(func(r *Run) error { return r.begin(log, v) })
			return g.failed()
		},
		Connect: func(ctx context.Context, c sandbox.Config) (_ rundir.Engine, err error) {
			if boxes, err = sandbox.Share(ctx, c, g.hostInstances()); err != nil {
				return nil, errors.Join(err, g.joined())
			}
			g.each(func(r *Run) error { return r.connect(ctx, boxes) })
			connected := hosts{boxes, g.runs}
			if err := g.failed(); err != nil {
				_ = connected.Close(ctx) // the error says more
				return nil, err
			}
			return connected, nil
		},
		Pool: func(ctx context.Context, pool runner.Config, _ rundir.View) error {
			return g.work(ctx, pool, boxes)
		},
		Progress: g.progress,
	}.Work(ctx, drain, rundir.NewView(show))
	for _, r := range g.runs {
		r.closeLog()
	}
	return err
}

// work works in all runs.
func (g *group) work(ctx context.Context, pool runner.Config, boxes *sandbox.Shared) (err error) {
	budget, done, err := g.limit.Open(g.costs())
	if err != nil {
		return errors.Join(err, g.joined())
	}
	defer func() { err = errors.Join(err, done()) }()
	g.money = budget
	g.by.Opened(budget)
	pool.Budget, pool.Pause = budget, g.by.Pause()
	g.each(func(r *Run) error {
		defer boxes.Skip(r.name, r.todo)
		return r.work(ctx, pool)
	})
	return g.joined()
}

// working returns the runs that have something to do and have not failed.
func (g *group) working() (list []*Run) {
	for _, r := range g.runs {
		if r.err == nil && !r.idle() {
			list = append(list, r)
		}
	}
	return list
}

// each calls f for the working runs, at the same time. A run that fails takes no more instances.
func (g *group) each(f func(*Run) error) {
	var calls sync.WaitGroup
	for _, r := range g.working() {
		calls.Go(func() {
			if r.err = f(r); r.err != nil {
				r.roster.Close()
			}
		})
	}
	calls.Wait()
}

// failed returns the errors of the runs, if none works any more.
func (g *group) failed() error {
	if len(g.working()) > 0 {
		return nil
	}
	return g.joined()
}

// joined joins the errors of the runs, with the names of the cells. An error of several
// cells is in it once. It is a cancellation only if no run failed otherwise.
func (g *group) joined() error {
	failed := slices.ContainsFunc(g.runs, func(r *Run) bool { return r.err != nil && !fault.Canceled(r.err) })
	cells := map[string][]string{}
	var list []error
	for _, r := range g.runs {
		if r.err == nil || failed && fault.Canceled(r.err) {
			continue
		}
		text := r.err.Error()
		if cells[text] == nil {
			list = append(list, r.err)
		}
		cells[text] = append(cells[text], r.name)
	}
	for i, err := range list {
		if names := strings.Join(cells[err.Error()], ", "); names != "" && !fault.Canceled(err) {
			list[i] = fmt.Errorf("%s: %w", names, err)
		}
	}
	return errors.Join(list...)
}

// hostInstances returns the instances for which the runs will open sandboxes.
func (g *group) hostInstances() (list []sandbox.HostInstance) {
	for _, t := range g.order {
		if r := g.runs[t.Pool]; r.err == nil {
			list = append(list, sandbox.HostInstance{Host: r.name, Instance: t.Job})
		}
	}
	return list
}

// hosts is the connection to the engines, with the hosts of the runs.
type hosts struct {
	*sandbox.Shared
	runs []*Run
}

// Close implements [rundir.Engine].
func (h hosts) Close(ctx context.Context) error {
	errs := make([]error, len(h.runs))
	var closing sync.WaitGroup
	for i, r := range h.runs {
		if r.host != nil {
			closing.Go(func() { errs[i] = r.host.Close(ctx) })
		}
	}
	closing.Wait()
	return errors.Join(append(errs, h.Shared.Close(ctx))...)
}

// progress returns the progress of all runs together.
func (g *group) progress() vocab.Event {
	e := vocab.Event{Cost: g.total(), Outcomes: map[string]int{}}
	for _, r := range g.runs {
		sum := r.Summary()
		lost := results.UnansweredOf(sum.Records)
		e.Lost, e.Held = e.Lost+lost.Lost, e.Held+lost.Held
		e.Done += len(sum.Asked) - len(r.todo) - r.left - int(r.kept.Load()) + sum.Final
		e.Total += len(sum.Asked)
		for outcome, n := range sum.Outcomes() {
			e.Outcomes[outcome] += n
		}
		if sum.Host != nil && e.Error == "" {
			if e.Error = sum.Host.Error(); r.name != "" {
				e.Error = r.name + ": " + e.Error
			}
		}
	}
	return e
}

// Drained reports whether a command of another program drained or stopped the work.
func (g *group) Drained() bool { return g.by.Drained() }

// Conclude puts on record the exit code with which the process will end, for programs that wait.
func (g *group) Conclude(pid, code int) error { return g.log.End(control.End{PID: pid, Code: code}) }
