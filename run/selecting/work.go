package selecting

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	"batch.example/batch/internal/printable"
	"batch.example/batch/results/selections"
	"batch.example/batch/run/rundir"
	"batch.example/batch/runner"
	"batch.example/batch/vocab"
)

// Work decides the instances that are left; see [rundir.Job.Work].
func (s *Selecting) Work(ctx context.Context, drain <-chan struct{}, show func(vocab.Event)) error {
	todo := s.todo()
	if len(todo) == 0 {
		return nil
	}
	all := len(s.Selections()) + len(todo)
	job := rundir.Job{
		Dir: s.Output, Mask: s.Store.Mask,
		Begin: func(log *slog.Logger, _ rundir.View) error {
			s.store.SetLog(log)
			log.Info("selecting started", "by", s.by(), "attempts", len(s.Attempts), "instances", len(s.all), "todo", len(todo))
			return nil
		},
		Pool: func(ctx context.Context, pool runner.Config, _ rundir.View) (err error) {
			pool.Width = s.Width
			s.sum, err = runner.Run(ctx, pool, runner.NewRoster(todo), &worker{s})
			return err
		},
		Progress: func() vocab.Event { return rundir.PatchProgress(len(s.Selections()), all) },
	}
	return job.Work(ctx, drain, rundir.NewView(show))
}

// worker implements runner.Worker: it decides one instance.
type worker struct{ *Selecting }

// Name implements runner.Worker.
func (w *worker) Name(c *choice) string { return c.id }

// Do implements runner.Worker.
func (w *worker) Do(ctx context.Context, a runner.Attempt[*choice]) (*selections.Selection, error) {
	c := a.Job
	groups := groupsOf(c.candidates)
	record := c.record(w.by(), groups)
	switch {
	case len(groups) == 1:
		record.choose(groups[0], ByMajority, c.agreed(groups[0]))
	case w.Program == nil:
		record.majority()
	default:
		a.Report(vocab.Event{Type: vocab.EventPhase, Phase: "program"})
		number, stderr, err := w.Program.ask(ctx, c.question(groups))
		if err != nil {
			return nil, err
		}
		record.choose(groups[number-1], ByProgram, fmt.Sprintf("%s chose candidate %d of %d", w.Program.Name, number, len(groups)))
		record.Program, record.Stderr = w.Program.digest, stderr
	}
	return record.Selection, nil
}

// Save implements runner.Worker.
func (w *worker) Save(_ context.Context, c *choice, record *selections.Selection, err error) (runner.Ending, error) {
	end := runner.EndingOf(err)
	if err != nil {
		return end, nil
	}
	if err := w.log.Add(*record); err != nil {
		return runner.EndingOf(err), err
	}
	c.decided = record
	if len(c.patches[record.Attempt].Patch) == 0 {
		end.Outcome = vocab.OutcomeEmpty
	}
	end.Result = record.Decided
	return end, nil
}

// deciding is a selection that is being made.
type deciding struct {
	*selections.Selection
	choice *choice
	groups []group
}

// record begins the record of a choice.
func (c *choice) record(by string, groups []group) deciding {
	s := &selections.Selection{InstanceID: c.id, Key: c.key, By: by, AttemptsCost: c.cost, Choices: len(groups)}
	for _, candidate := range c.all {
		if g, ok := groupOf(groups, candidate.Attempt); ok {
			candidate.Votes = len(g.Attempts)
		}
		s.Candidates = append(s.Candidates, candidate)
	}
	return deciding{s, c, groups}
}

// choose sets the chosen group.
func (d deciding) choose(g group, decided, why string) {
	d.Attempt, d.Decided, d.Why = g.Attempt, decided, why
	d.Patch, d.Dir = d.Candidates[g.Attempt-1].Patch, d.Candidates[g.Attempt-1].Dir
}

// majority chooses the patch that most attempts made.
func (d deciding) majority() {
	g := d.groups[0]
	why := fmt.Sprintf("%d of %s made this patch", len(g.Attempts), printable.Count(len(d.choice.candidates), "attempt", "attempts"))
	if len(d.groups) > 1 && len(d.groups[1].Attempts) == len(g.Attempts) {
		why += ", as many as another one: the first attempt counts"
	}
	d.choose(g, ByMajority, why)
}

// agreed says why there is nothing to decide.
func (c *choice) agreed(g group) string {
	switch {
	case g.empty():
		return "all patches are empty"
	case len(c.candidates) == 1:
		return "only one attempt has a result"
	case len(g.Attempts) == 1:
		return "the other patches are empty"
	default:
		return cmp.Or(map[bool]string{true: "all attempts made this patch"}[len(g.Attempts) == len(c.candidates)], "all patches that are not empty are equal")
	}
}
