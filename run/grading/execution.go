package grading

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"batch.example/batch/grade"
	"batch.example/batch/grade/evaluate"
	"batch.example/batch/grade/family"
	"batch.example/batch/internal/printable"
	"batch.example/batch/results/grades"
	"batch.example/batch/vocab"
)

// execution is one execution of a prediction's tests, from the patch to a verdict.
type execution struct {
	*worker
	job    Job
	report func(phase string)
	grade  grades.Grade
	final  bool // further executions would have the same verdict
	again  bool // the next run must not use the log of an earlier one

	task      *family.Task
	assets    []evaluate.Asset
	evidence  *evaluate.Evidence // nil: nothing ran
	judgement *grade.Judgement   // nil: there was nothing to judge
}

// run executes and judges. An error is a fault that says nothing about the prediction.
func (x *execution) run(ctx context.Context) error {
	if t := x.job.Instance.Task; t != nil {
		return x.verifyTask(ctx, t)
	}
	if len(bytes.TrimSpace(x.job.Prediction.Patch)) == 0 && !x.RunEmpty {
		if err := x.job.Untestable; ungradeable(err) { // no patch could be graded
			return x.settle(vocab.VerdictUngradeable, reason(err))
		}
		return x.settle(vocab.VerdictEmpty, "the prediction is empty")
	}
	err := x.prepare(ctx)
	if ungradeable(err) {
		return x.settle(vocab.VerdictUngradeable, reason(err))
	}
	if err != nil {
		return err
	}
	return x.test(ctx)
}

// prepare finds out how the row is tested.
func (x *execution) prepare(ctx context.Context) (err error) {
	if x.job.Untestable != nil {
		return x.job.Untestable
	}
	x.task = x.job.Task
	x.grade.Script, x.grade.Parser, x.grade.Family = digest([]byte(x.task.Script)), x.task.Parser, x.task.Family
	if x.Basis != nil {
		x.grade.Basis = x.Basis(x.job.Instance, x.task)
	}
	x.assets, err = x.Settings.assets(ctx, x.job.Instance)
	return err
}

// test runs the tests until there is a verdict. If the patch changes files that decide what
// tests report, it runs them again without these changes.
func (x *execution) test(ctx context.Context) error {
	var deciders []evaluate.Decider
	var list []grade.Judgement
	var step evaluate.Step
	var without *evaluate.Evidence // of the last run without the deciders, with its judgement
	var bare *grade.Judgement
	for {
		job := x.evaluation(step.Without)
		x.again = step.Again
		e, key, err := x.execute(ctx, job)
		x.again = false
		if err != nil {
			return err
		}
		j, judged, err := x.judge(ctx, e)
		if err != nil {
			return err
		}
		if judged && len(list) == 0 {
			if why, err := x.missingRunner(ctx, e, j); err != nil {
				return err
			} else if why != "" {
				x.evidence = e
				return x.settle(vocab.VerdictUngradeable, "the image cannot run the tests, whatever the patch: "+why)
			}
		}
		if judged && j.Verdict.Counts() && !step.Again {
			x.keep(key, e)
		}
		runner := slices.ContainsFunc(deciders, func(d evaluate.Decider) bool { return d.Tier == evaluate.TierRunner })
		if !j.Verdict.Counts() && (len(list) == 0 || runner) {
			if j, judged, err = x.blame(ctx, j); err != nil {
				return err
			}
		}
		if list = append(list, j); len(list) == 1 {
			x.evidence = e
			job.Ran = e.Ran
			deciders = evaluate.Deciders(job, e.Changes)
			if judged {
				x.judgement = &j
			}
			if j.Resolved {
				written, err := x.written(ctx, job, e)
				if err != nil {
					return err
				}
				deciders = append(deciders, written...)
			}
		} else if !j.Verdict.Counts() {
			why := "without " + strings.Join(step.Without, ", ") + " of the patch: " + j.Why
			if runner {
				return x.settle(vocab.VerdictUngradeable, why)
			}
			// Only a note depended on it.
			x.decide(ctx, list[0], evaluate.Step{Resolved: true, Suspicious: append(slices.Clone(list[0].Suspicious), why)})
			return nil
		} else if judged && len(step.Without) > 0 {
			without, bare = e, &list[len(list)-1]
		}
		if step = evaluate.Decide(deciders, list...); !step.Run {
			counts := list[0]
			if step.Why != "" && bare != nil { // the files must show why it is not resolved
				x.evidence, x.judgement, counts = without, bare, *bare
			}
			x.decide(ctx, counts, step)
			return nil
		}
	}
}

// written returns the deciders that a run of the job wrote before its tests because of the patch:
// without it, the same script does not write them, or not so.
func (x *execution) written(ctx context.Context, job evaluate.Job, e *evaluate.Evidence) ([]evaluate.Decider, error) {
	if len(evaluate.WrittenDeciders(job, e.Written)) == 0 || bytes.Equal(job.Patch, job.Gold) {
		return nil, nil
	}
	control, j, err := x.control(ctx)
	if err != nil || !j.Verdict.Counts() { // the script does not come to its tests: nothing can be said
		return nil, err
	}
	own := slices.DeleteFunc(slices.Clone(e.Written), func(w evaluate.Written) bool { return slices.Contains(control.Written, w) })
	list := evaluate.WrittenDeciders(job, own)
	for i, d := range list {
		// A solution that needs entry points may name them in another way than the gold patch does.
		if path.Base(d.Path) == "entry_points.txt" && slices.ContainsFunc(control.Written, func(w evaluate.Written) bool { return w.Path == d.Path }) {
			list[i].Tier = evaluate.TierProject
		}
	}
	return list, nil
}

// missingRunner returns the log's message about a test runner that is not in the image, or "".
// A patch can remove the runner or break its compilation, and in many rows the tests do not
// compile without the solution. So the tests run once more, see [execution.control].
func (x *execution) missingRunner(ctx context.Context, e *evaluate.Evidence, j grade.Judgement) (string, error) {
	if j.Verdict != vocab.VerdictUnresolved || len(j.Statuses) > 0 {
		return "", nil
	}
	said := evaluate.MissingRunner(x.evaluation(nil), e.Log)
	if said == "" || bytes.Equal(x.job.Prediction.Patch, x.task.Gold) {
		return said, nil
	}
	e, j, err := x.control(ctx)
	if err != nil || !j.Verdict.Counts() || e.TimedOut || len(j.Statuses) > 0 {
		return "", err
	}
	return evaluate.MissingRunner(x.evaluation(nil), e.Log), nil
}

// blame returns the judgement that counts for a run without a verdict. A patch can end the script
// before the tests, or print too much or text that the parser cannot read. If the tests give a
// verdict without the patch, the patch is the reason, and must still count in the rate. Judged
// reports that.
func (x *execution) blame(ctx context.Context, j grade.Judgement) (blamed grade.Judgement, judged bool, err error) {
	patch := x.job.Prediction.Patch
	if len(bytes.TrimSpace(patch)) == 0 || bytes.Equal(patch, x.task.Gold) {
		return j, false, nil
	}
	_, other, err := x.control(ctx)
	if err != nil || !other.Verdict.Counts() {
		return j, false, err
	}
	j.Resolution, j.Verdict = grade.ResolvedNo, vocab.VerdictUnresolved
	j.Why = "because of the patch, " + j.Why + "; without it, the tests have a verdict"
	return j, true, nil
}

// control runs and judges the tests without the prediction: with the gold patch, or on the
// unchanged code if the row has none.
func (x *execution) control(ctx context.Context) (*evaluate.Evidence, grade.Judgement, error) {
	job := x.evaluation(nil)
	job.Patch = x.task.Gold
	e, key, err := x.execute(ctx, job)
	if err != nil {
		return nil, grade.Judgement{}, err
	}
	j, judged, err := x.judge(ctx, e)
	if judged && j.Verdict.Counts() {
		x.keep(key, e)
	}
	return e, j, err
}

// settle gives a verdict that does not come from the tests.
func (x *execution) settle(v vocab.Verdict, why string) error {
	x.final = true
	x.grade.Verdict, x.grade.Why = v, why
	return nil
}

// judge reads the log, unless the evidence alone has the verdict. Judged reports whether it
// read the log.
func (x *execution) judge(ctx context.Context, e *evaluate.Evidence) (j grade.Judgement, judged bool, err error) {
	x.report("judge")
	defer since(&x.grade.Time.Judge, time.Now())
	switch {
	case !e.Applied:
		return grade.Judgement{Verdict: vocab.VerdictNoApply, Why: e.Refused}, false, nil
	case e.Cut:
		return grade.Judgement{Verdict: vocab.VerdictUngradeable, Why: "the tests printed more than is kept"}, false, nil
	}
	j, err = x.task.Judge(ctx, e.Log, x.Rules)
	switch {
	case err == nil && !e.TimedOut:
		return j, true, nil
	case e.TimedOut:
		why := fmt.Sprintf("the tests took longer than %v", x.limit())
		return grade.Judgement{Verdict: vocab.VerdictTimedOut, Why: why, Suspicious: j.Suspicious}, false, nil
	case ungradeable(err):
		return grade.Judgement{Verdict: vocab.VerdictUngradeable, Why: reason(err)}, false, nil
	}
	return j, false, err
}

// decide gives the verdict, from the judgement that counts and from step, the result of the
// other runs.
func (x *execution) decide(ctx context.Context, j grade.Judgement, step evaluate.Step) {
	g, e := &x.grade, x.evidence
	x.final = !e.Applied
	g.Applied, g.ExitCode = e.How, e.Log.ExitCode
	g.Verdict, g.Why, g.Suspicious = j.Verdict, j.Why, step.Suspicious
	if len(e.Lost) > 0 {
		g.Notes = append(g.Notes, "git apply could not apply the patch at once, so the official steps reset what the image itself had changed: "+printable.Some(e.Lost, 3))
	}
	g.Doubt = j.Doubt
	if all := len(x.task.Tests.FailToPass) + len(x.task.Tests.PassToPass); g.Doubt == "" && j.Lost > 0 && j.Verdict == vocab.VerdictUnresolved {
		switch {
		case e.OutOfMemory:
			g.Doubt = grade.Missing(j.Lost, all, "the container ran out of memory")
		case e.FullDisk:
			g.Doubt = grade.Missing(j.Lost, all, "the container's files exceeded their limit")
		}
	}
	if line := evaluate.FailedInstall(x.task.Script, e.Log); line != "" {
		g.FailedInstall = line
		g.Notes = append(g.Notes, failedInstall)
	}
	if step.Note != "" {
		g.Notes = append(g.Notes, step.Note)
	}
	if step.Why != "" {
		g.Verdict, g.Why = vocab.VerdictUnresolved, step.Why
	}
	g.FailToPass = grades.Tests{Passed: j.Tests.FailToPass.Success, Failed: j.Tests.FailToPass.Failure}
	g.PassToPass = grades.Tests{Passed: j.Tests.PassToPass.Success, Failed: j.Tests.PassToPass.Failure}
	if g.Verdict == vocab.VerdictResolved {
		g.Suspicious = append(g.Suspicious, evaluate.Doubts(x.job.Prediction.Patch, x.task.Gold, x.task.Script, e.Log, j, x.task.Parse(ctx, x.Rules))...)
		return
	}
	if e.OutOfMemory {
		g.Why += "; the container ran out of memory"
	}
	if e.FullDisk {
		g.Why += "; the container's files exceeded their limit"
	}
}

// failedInstall is the note of a verdict if an install failed in its log.
const failedInstall = "an install of the eval script failed: what the patch changes in compiled code or in dependencies was not built. " +
	"The verdict may be another one where a package index can be reached"

// limit is the time limit of the tests.
func (x *execution) limit() time.Duration { return limitOf(x.Timeout, x.task) }

func limitOf(given time.Duration, t *family.Task) time.Duration {
	if given > 0 {
		return given
	}
	return cmp.Or(t.Timeout, evaluate.DefaultTimeout)
}

// since adds the time since began to sum, in seconds.
func since(sum *float64, began time.Time) { *sum += time.Since(began).Seconds() }
