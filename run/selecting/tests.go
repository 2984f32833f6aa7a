package selecting

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"batch.example/batch/fault"
	"batch.example/batch/grade"
	"batch.example/batch/grade/evaluate"
	"batch.example/batch/grade/family"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/grade/selection"
	"batch.example/batch/internal/printable"
	"batch.example/batch/results/selections"
	"batch.example/batch/run/grading"
	"batch.example/batch/runner"
)

// added has the tests that a candidate adds or changes, and the task that runs them.
type added struct {
	attempt int
	task    *family.Task
}

// byTests runs the code of each candidate against each candidate's tests.
func (w *worker) byTests(ctx context.Context, a runner.Attempt[*choice], d deciding) error {
	tests, why, err := w.added(d)
	if err != nil {
		return err
	}
	if len(tests) == 0 {
		d.majority(why)
		return nil
	}
	var scores []selection.Passes
	most, total := 0, 0
	for i, g := range d.groups {
		passed := 0
		for k, t := range tests {
			a.Report(runner.Progress{Phase: "tests", Step: i*len(tests) + k + 1})
			r, err := w.cross(ctx, d, g, t)
			if err != nil {
				return err
			}
			passed += r.Passed
			total = max(total, r.Passed+r.Failed)
		}
		scores = append(scores, selection.Passes{Attempt: g.Attempt, Tests: passed})
		for _, attempt := range g.Attempts {
			d.Candidates[attempt-1].Passed = &passed
		}
		most = max(most, passed)
	}
	g, _ := selection.ByTests(d.groups, scores)
	tied := slices.DeleteFunc(slices.Clone(scores), func(p selection.Passes) bool { return p.Tests < most })
	switch {
	case most == 0:
		d.majority("no candidate passes any of the tests that the patches add")
	case len(tied) == len(scores):
		d.majority(fmt.Sprintf("every candidate passes %s that the patches add", printable.Count(most, "test", "tests")))
	case len(tied) > 1:
		d.choose(g, ByTests, fmt.Sprintf("its code passes %s that the patches add, the most, as does the code of %s; more attempts made this patch, or an earlier one",
			printable.Count(most, "test", "tests"), printable.Count(len(tied)-1, "another candidate", "other candidates")))
	default:
		d.choose(g, ByTests, fmt.Sprintf("its code passes %s that the patches add, the most", printable.Count(most, "test", "tests")))
	}
	return nil
}

// added returns the different tests of the candidates. If there are none, why gives the
// reason.
func (w *worker) added(d deciding) (list []added, why string, err error) {
	why = "no patch adds or changes tests"
	seen := map[string]bool{}
	for _, g := range d.groups {
		tests, _ := evaluate.TestPart(g.Patch)
		if len(tests) == 0 {
			continue
		}
		for _, attempt := range g.Attempts {
			d.Candidates[attempt-1].Tests = true
		}
		if seen[string(tests)] {
			continue
		}
		seen[string(tests)] = true
		task, err := w.Tests.WithTests(d.choice.in, string(tests))
		switch {
		case err == nil:
			list = append(list, added{g.Attempt, task})
		case fault.KindOf(err) == fault.Instance:
			why = "the tests that the patches add cannot be run: " + err.Error()
			w.log.Warn("the tests of a candidate cannot be run", "instance", d.InstanceID, "attempt", g.Attempt, "err", err)
		default:
			return nil, "", err
		}
	}
	return list, why, nil
}

// cross returns which of the added tests a candidate's code passes.
func (w *worker) cross(ctx context.Context, d deciding, code selection.Group, t added) (r selections.Tested, err error) {
	r = selections.Tested{InstanceID: d.InstanceID, Code: code.Attempt, Tests: t.attempt}
	without := codeOnly(code.Patch, t.task)
	if r.Key, err = crossKey(code.Patch, without, t.task); err != nil {
		return r, err
	}
	for _, old := range w.Selecting.log.All().Tested {
		if old.InstanceID == r.InstanceID && old.Key == r.Key {
			return old, nil
		}
	}
	e, err := grading.Evidence(ctx, grading.On(w.host), w.Tests.Network, d.choice.in, t.task, code.Patch, without, w.Tests.Timeout)
	if err != nil {
		return r, err
	}
	r.Seconds = e.Tests.Seconds()
	if err := count(ctx, &r, e, t.task); err != nil {
		return r, err
	}
	return r, w.Selecting.log.AddTested(r)
}

// codeOnly returns the paths of a patch that are left out when its code is tested: its own
// tests, and files that only test runs read.
func codeOnly(patch []byte, t *family.Task) []string {
	_, paths := evaluate.TestPart(patch)
	job := grading.JobOf(t)
	job.TestFiles = nil // the candidate's own changes to them are left out too
	for _, f := range evaluate.Deciders(job, evaluate.Named(patch)) {
		if f.Tier == evaluate.TierRunner && !slices.Contains(paths, f.Path) {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// crossKey returns a key of a run of tests.
func crossKey(patch []byte, without []string, t *family.Task) (string, error) {
	text, err := json.Marshal([]any{digest(string(patch)), without, digest(t.Script), t.Setup, t.BaseCommit})
	if err != nil {
		return "", fault.New(fault.Bug, "identifying a run of tests", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// count reads the passed tests from a log. A run without a whole log passed nothing.
func count(ctx context.Context, r *selections.Tested, e *evaluate.Evidence, t *family.Task) error {
	switch {
	case !e.Applied:
		r.Note = "the patch does not apply: " + e.Refused
		return nil
	case e.Cut:
		r.Note = "the tests printed more than is kept"
		return nil
	case e.TimedOut:
		r.Note = "the tests took too long"
		return nil
	}
	log := e.Log
	log.OnlyMarked = true
	j, err := grade.Judge(log, t.Parse(ctx, logparse.V5), grade.Tests{}, grade.PassAndFail, logparse.V5)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if fault.KindOf(err) == fault.Usage {
		return err // the parser that was given
	}
	if err != nil {
		r.Note = err.Error()
		return nil
	}
	for _, status := range j.Statuses {
		switch status {
		case logparse.Passed, logparse.XFail:
			r.Passed++
		case logparse.Skipped:
		default:
			r.Failed++
		}
	}
	if !j.Found {
		r.Note = j.Why
	}
	return nil
}
