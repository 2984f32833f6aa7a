package run

import (
	"context"
	"fmt"

	"batch.example/batch/dataset"
	"batch.example/batch/internal/printable"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/manifest"
	"batch.example/batch/run/rundir"
	"batch.example/batch/runner"
	"batch.example/batch/sandbox"
)

// Action says how a run treats a selected instance.
type Action string

// A run does one of these with each selected instance.
const (
	Fresh  Action = "fresh"  // this is its first attempt
	Resume Action = "resume" // its unfinished attempt continues
	Retry  Action = "retry"  // another attempt begins
	Keep   Action = "keep"   // it has a result, and does not run
	Cancel Action = "cancel" // only in [NewPlan]: it was canceled, and does not run
)

// Planned is an instance with the run's action for it.
type Planned struct {
	dataset.Instance
	Action Action
	Why    string // for a person; empty for Fresh

	// For an attempt that is resumed, if known.
	Steps     int    // model calls so far
	Container string // id of the container in which it ran

	differences []manifest.Difference // between the settings of its unfinished attempt and of this run
}

// Plan says how a run treats the selected instances.
type Plan struct {
	Instances []Planned // first the ones that run, in order; then the ones that keep their result
	Spent     float64   // US dollars, by earlier runs into the directory
	Exhausted bool      // the cost limit leaves no money for a model call
	Stand     runner.Stand
	Ungraded  int // kept predictions that will be graded
}

// Count returns how many instances have an action.
func (p *Plan) Count(a Action) int {
	n := 0
	for _, in := range p.Instances {
		if in.Action == a {
			n++
		}
	}
	return n
}

// NewPlan returns the plan of a run. It refuses the same configurations as [Open], but
// takes no lock and writes nothing.
func NewPlan(ctx context.Context, c Config) (*Plan, error) {
	r, err := newRun(c)
	if err != nil {
		return nil, err
	}
	if r.read, err = results.Look(c.Output); err != nil {
		return nil, err
	}
	plan, err := r.makePlan()
	if err != nil {
		return nil, err
	}
	if err := r.markCanceled(plan); err != nil {
		return nil, err
	}
	for i, p := range plan.Instances {
		if p.Action != Resume {
			continue
		}
		if h, err := r.read.History(p.ID); err == nil && h.Container != nil { // otherwise the attempt will report the error
			plan.Instances[i].Container = h.Container.Container
		}
	}
	if c.Grading == nil || c.Again {
		return plan, nil
	}
	list, err := grades.Read(c.Output)
	if err != nil {
		return nil, err
	}
	jobs, err := r.planGrading(ctx, plan, list)
	plan.Ungraded = len(jobs)
	return plan, err
}

// Look asks the engine for the images and containers that a plan of c needs. It refuses the
// same configurations as [Run.Work] does before the first instance, and changes nothing.
func (p *Plan) Look(ctx context.Context, c Config) (*sandbox.Found, error) {
	boxes := c.Sandboxes
	boxes.Lease = rundir.Lease(c.Output)
	for _, in := range p.Instances {
		if in.Action != Keep {
			boxes.Instances = append(boxes.Instances, in.Instance)
		}
	}
	return sandbox.Look(ctx, boxes)
}

// makePlan compares the directory with the selected instances, and decides what to do with
// each.
func (r *Run) makePlan() (*Plan, error) {
	for _, note := range r.read.Recovered() {
		r.Tell(note)
	}
	if err := r.checkGrading(); err != nil {
		return nil, err
	}
	r.manifest = r.newManifest()
	if err := r.checkManifest(r.manifest); err != nil {
		return nil, err
	}
	last := results.Latest(r.read.Records())
	var plan Plan
	var todo, kept []Planned
	for _, in := range r.Instances {
		p := r.decide(in, last)
		if p.Action == Keep {
			kept = append(kept, p)
		} else {
			todo = append(todo, p)
		}
	}
	if err := r.checkUnfinished(todo); err != nil {
		return nil, err
	}
	if err := r.checkTests(todo); err != nil {
		return nil, err
	}
	if err := r.checkSight(todo); err != nil {
		return nil, err
	}
	if err := r.checkFit(todo); err != nil {
		return nil, err
	}
	if n := foreignIn(last); n > 0 && len(todo) > 0 {
		r.Tell(printable.Count(n, "result of another tool stays", "results of another tool stay") + " in " + r.Output + ", beside the ones that this run makes")
	}
	if r.ByImage {
		todo = byImage(todo, r.Sandboxes.Prefix)
	}
	budget := r.limit().Budget(r.costs())
	plan.Instances, plan.Spent, plan.Exhausted, plan.Stand = append(todo, kept...), r.read.Spent(), !budget.Open(), budget.Stand()
	return &plan, nil
}

// foreignIn counts the results that another tool made.
func foreignIn(last map[string]results.Record) (n int) {
	for _, r := range last {
		if r.Attempt == 0 && r.Outcome.Final() {
			n++
		}
	}
	return n
}

// checkFit refuses to run an instance if the directory has an unreadable prediction for it,
// unless a new one is asked for.
func (r *Run) checkFit(todo []Planned) error {
	if r.Redo || r.Again {
		return nil
	}
	var list []string
	for _, p := range todo {
		list = append(list, p.ID)
	}
	return r.read.Fit(list)
}

// decide chooses the action for an instance. Last has the last attempts by instance id.
func (r *Run) decide(in dataset.Instance, last map[string]results.Record) Planned {
	p := Planned{Instance: in, Action: Fresh}
	was, ran := last[in.ID]
	made, unfinished := r.read.Resumable(in.ID)
	if unfinished {
		p.differences = r.settingsOf(in).Differences(made)
	}
	if done, ok := r.read.Finished(in.ID); ok {
		p.Action, p.Why = Keep, ended(done)
		if r.Redo || r.Again {
			p.Action, p.Why = Retry, "replaces "+p.Why
		}
		return p
	}
	switch {
	case unfinished && r.Again && r.Fresh:
		p.Action, p.Why = Retry, "from the beginning"
	case len(p.differences) > 0:
		p.Action, p.Why = Retry, "from the beginning: settings changed"
	case unfinished:
		p.Action, p.Steps, p.Why = Resume, was.Steps, "before the first step"
		if p.Steps > 0 {
			p.Why = fmt.Sprintf("after step %d", p.Steps)
		}
	case ran:
		p.Action, p.Why = Retry, "after "+ended(was)
	}
	return p
}

// ended says how an attempt ended.
func ended(r results.Record) string {
	if r.Attempt == 0 {
		return "a prediction of another tool"
	}
	text := r.Status.Label(r.Outcome)
	if !r.Outcome.Final() && r.Error != "" {
		text += ": " + r.Error
	}
	return text
}
