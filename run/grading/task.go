package grading

import (
	"context"
	"path/filepath"
	"time"

	"batch.example/batch/dataset/harbor"
	"batch.example/batch/fault"
	"batch.example/batch/grade"
	"batch.example/batch/grade/evaluate"
	"batch.example/batch/grade/verifier"
	"batch.example/batch/internal/regular"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/results/grades"
	"batch.example/batch/vocab"
)

// familyOfTasks is the family of task folders.
const familyOfTasks = "Harbor"

// taskRules is the number of batch's own rules about what decides the verdict of a task.
const taskRules = 1

// basisOfTask returns what the verdict of a task depends on.
func (s Settings) basisOfTask(t *harbor.Task) grades.Basis {
	return grades.Basis{Tests: t.Digest, Limits: digestOf(s.Tasks.Times(t.VerifierLimit).String()), Network: t.Network, Rules: taskRules}
}

// GradeTask runs the verifier of a task in a box, in which an agent has worked, and fills in the grade. It
// returns the files for the instance's folder of the log tree.
func (s Settings) GradeTask(ctx context.Context, box verifier.Box, t *harbor.Task, open verifier.Open, g *grades.Grade) (swebench.Files, error) {
	script, err := regular.ReadFile(filepath.Join(t.Dir, harbor.TestsDir, harbor.TestScript))
	if err != nil && t.Separate == nil { // another one's is in its image
		return swebench.Files{}, fault.New(fault.Usage, "reading the task", err)
	}
	began := time.Now()
	v, err := s.Tasks.Verify(ctx, box, t, open)
	if err == nil && ctx.Err() != nil { // what a canceled run left is not all
		err = context.Cause(ctx)
	}
	if err != nil {
		return swebench.Files{}, err
	}
	g.Family, g.Script, g.Basis = familyOfTasks, digest(script), s.basisOfTask(t)
	g.Verdict, g.Why, g.Doubt, g.Rewards, g.Notes = v.Verdict, v.Why, v.Doubt, v.Rewards, append(g.Notes, v.Notes...)
	g.Time.Tests += v.Took.Seconds()
	g.Time.Apply += (time.Since(began) - v.Took).Seconds()
	return swebench.Files{Patch: []byte{}, RunLog: []byte{}, Script: script, Output: v.Output}, nil
}

// verifyTask verifies a task in a fresh container, after its solution has run or after nothing. The container
// of an agent is verified by its run.
func (x *execution) verifyTask(ctx context.Context, t *harbor.Task) (err error) {
	if !x.Solve && !x.RunEmpty {
		return x.settle(vocab.VerdictUngradeable, onlyThere)
	}
	started := time.Now()
	box, err := x.Boxes.Open(ctx, x.job.Instance, "", x.report)
	if err != nil {
		return err
	}
	defer func() {
		if closing := box.Close(); closing != nil && err == nil {
			x.Pool.Log.Warn("removing a container", "instance", x.job.Instance.ID, "err", closing)
		}
	}()
	facts := box.Facts()
	x.setImage(facts.Image)
	x.grade.Engine, x.grade.Time.Pull, x.grade.Time.Start = facts.Engine, facts.Pull.Seconds(), (time.Since(started) - facts.Pull).Seconds()
	x.report("tests")
	inside, ok := box.(verifier.Box)
	if !ok {
		return fault.Newf(fault.Bug, "verifying %s in a box of type %T", x.job.Instance.ID, box)
	}
	if x.Solve {
		if err := x.Tasks.Solve(ctx, inside, t); err != nil {
			return err
		}
	}
	files, err := x.GradeTask(ctx, inside, t, x.openVerifier, &x.grade)
	if err != nil {
		return err
	}
	x.evidence = &evaluate.Evidence{Applied: true, Script: string(files.Script), RunLog: files.RunLog, Log: grade.Log{Text: files.Output}}
	return nil
}

// openVerifier implements [verifier.Open].
func (x *execution) openVerifier(ctx context.Context) (verifier.Box, func(), error) {
	box, err := x.Boxes.Open(ctx, x.job.Instance.Verifier(), "", x.report)
	if err != nil {
		return nil, nil, err
	}
	done := func() {
		if err := box.Close(); err != nil {
			x.Pool.Log.Warn("removing a container", "instance", x.job.Instance.ID, "err", err)
		}
	}
	inside, ok := box.(verifier.Box)
	if !ok {
		done()
		return nil, nil, fault.Newf(fault.Bug, "verifying %s in a box of type %T", x.job.Instance.ID, box)
	}
	return inside, done, nil
}

// onlyThere says why a prediction for a task is not graded.
const onlyThere = "a task is verified in the container of its agent, when the agent has ended: run it again"
