package grading

import (
	"context"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/grade/evaluate"
	"batch.example/batch/grade/family"
	"batch.example/batch/internal/boxgit"
	"batch.example/batch/vocab"
)

// execute returns the output of a job's tests, from the cache if it has the log of the same run. The
// log may be kept in the cache under the key; the zero key means that it came from there.
func (x *execution) execute(ctx context.Context, job evaluate.Job) (*evaluate.Evidence, cacheKey, error) {
	key := x.key(job)
	if img, here, err := x.Boxes.Image(ctx, x.job.Instance); err == nil && here {
		x.setImage(img)
		key.ImageID = img.ID
		if e := x.cached(key); e != nil {
			return e, cacheKey{}, nil
		}
	}
	started := time.Now()
	box, err := x.Boxes.Open(ctx, x.job.Instance, networkOf(x.Network, x.task), x.report)
	if err != nil {
		return nil, key, err
	}
	facts := box.Facts()
	x.setImage(facts.Image)
	x.grade.Engine = facts.Engine
	x.grade.Time.Pull += facts.Pull.Seconds()
	x.grade.Time.Start += (time.Since(started) - facts.Pull).Seconds()
	e, err := x.inBox(ctx, box, job, &key, facts.Image)
	return e, key, err
}

// inBox runs the job in a box and closes it.
func (x *execution) inBox(ctx context.Context, box Box, job evaluate.Job, key *cacheKey, image vocab.Image) (e *evaluate.Evidence, err error) {
	defer func() {
		defer since(&x.grade.Time.Close, time.Now())
		if closing := box.Close(); closing != nil && err == nil {
			// The verdict stands: the container is removed with the containers of crashed
			// runs.
			x.Pool.Log.Warn("removing a container", "instance", job.InstanceID, "err", closing)
		}
	}()
	if key.ImageID != image.ID { // the image was pulled just now
		key.ImageID = image.ID
		if e := x.cached(*key); e != nil {
			*key = cacheKey{}
			return e, nil
		}
	}
	if job.Offline, err = x.setUp(ctx, box); err != nil {
		return nil, err
	}
	if job.Offline && key.Network != networkNone { // the log differs from one with a reachable index
		key.Offline = true
		if e := x.cached(*key); e != nil {
			*key = cacheKey{}
			return e, nil
		}
	}
	x.report("tests")
	if e, err = evaluate.Run(ctx, box, job); err != nil {
		return nil, err
	}
	if ctx.Err() != nil { // what a canceled run printed is not all
		return nil, context.Cause(ctx)
	}
	x.grade.Time.Apply += e.Apply.Seconds()
	x.grade.Time.Tests += e.Tests.Seconds()
	return e, nil
}

// setupLimit is how long the preparation of a row's family may take.
const setupLimit = 10 * time.Minute

// setUp brings the repository to the state from which the family of the row starts. IsOffline
// means that nothing can be installed in the box.
func (x *execution) setUp(ctx context.Context, box Box) (isOffline bool, err error) {
	defer since(&x.grade.Time.Start, time.Now())
	t := x.task
	if isOffline, err = offline(ctx, box, networkOf(x.Network, t), t); err != nil {
		return isOffline, err
	}
	if t.Setup != "" {
		out, err := box.Run(ctx, vocab.Command{Script: t.Setup, Dir: t.Workdir, Timeout: setupLimit})
		if err == nil && (out.ExitCode != 0 || out.TimedOut) {
			err = fault.Newf(fault.Instance, "preparing the repository in %s: exit code %d: %.500s", t.Workdir, out.ExitCode, out.Bytes)
		}
		if err != nil {
			return isOffline, err
		}
	}
	return isOffline, atCommit(ctx, box, t)
}

func (x *execution) setImage(img vocab.Image) {
	x.grade.Image, x.grade.ImageID, x.grade.ImageDigest = img.Ref, img.ID, img.Digest
}

func (x *execution) evaluation(without []string) evaluate.Job {
	job := JobOf(x.task)
	job.Gold = x.task.Gold
	job.Patch, job.Without, job.Assets, job.Timeout, job.Rules = x.job.Prediction.Patch, without, x.assets, x.limit(), x.Rules
	return job
}

// JobOf returns the job of running a task's tests, without the patch, the assets and the limit.
func JobOf(t *family.Task) evaluate.Job {
	return evaluate.Job{
		InstanceID: t.InstanceID, Workdir: t.Workdir, BaseCommit: t.BaseCommit, Script: t.Script, Command: t.Command, TestFiles: t.TestFiles,
	}
}

// key returns the cache's key of a job, without the image.
func (x *execution) key(job evaluate.Job) cacheKey {
	return cacheKey{
		Setup: digest([]byte(x.task.Setup)), Patch: digest(job.Patch), Script: digest([]byte(job.Script)),
		Workdir: job.Workdir, Base: job.BaseCommit, Rules: job.Rules.String(), TestFiles: job.TestFiles, Without: namesDigest(job.Without), Instead: insteadDigest(job), Assets: digestOf(job.Assets),
		Container: x.Container, Network: networkOf(x.Network, x.task),
	}
}

// namesDigest returns a digest of a list of paths, which need not be UTF-8; "" for an empty
// list.
func namesDigest(paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	names := make([][]byte, len(paths))
	for i, name := range paths {
		names[i] = []byte(name)
	}
	return digestOf(names)
}

// insteadDigest returns a digest of what the gold patch makes of the files that are left out; "" if it
// changes none.
func insteadDigest(job evaluate.Job) string {
	if instead := job.Instead(); len(instead) > 0 {
		return digest(instead)
	}
	return ""
}

// cached returns the log of an earlier run. Repeated executions and runs do not use it, because
// they test whether the log stays the same.
func (x *execution) cached(key cacheKey) *evaluate.Evidence {
	if x.grade.Repeat > 0 || x.again {
		return nil
	}
	e := x.Cache.get(key, x.limit())
	x.grade.Cached = e != nil
	return e
}

func (x *execution) keep(key cacheKey, e *evaluate.Evidence) {
	whole := !e.TimedOut && !e.Cut && !e.OutOfMemory && !e.FullDisk // otherwise another run may print more
	if key.Network != networkNone && !key.Offline && evaluate.FailedInstall(x.task.Script, e.Log) != "" {
		whole = false // the index may answer the next time
	}
	if key.ImageID != "" && whole && x.grade.Repeat == 0 {
		x.Cache.put(key, e)
	}
}

// atCommit refuses a container that is not at the commit for which the row's patches are made, as
// a run does: on other code, tests say nothing about the patches. A base_commit that is the name
// of a tag or a branch is not compared.
func atCommit(ctx context.Context, box Box, t *family.Task) error {
	if !t.AtBase || boxgit.ID(t.BaseCommit) == "" {
		return nil
	}
	out, err := box.Run(ctx, vocab.Command{Script: boxgit.Command(t.BaseCommit, boxgit.Keep), Dir: t.Workdir, Timeout: setupLimit})
	if err != nil {
		return err
	}
	found := boxgit.ReadBase(out.Bytes, out.ExitCode)
	if mismatch := found.Mismatch(t.BaseCommit, string(t.Gold)); mismatch != "" {
		return fault.Newf(fault.Instance, "the image is not at base_commit %s: %s", t.BaseCommit, mismatch).
			WithHint("run.env_startup_command can check out the commit: name the dataset's configuration with -c;\n" +
				"environment.allow_commit_mismatch tests the image as it is")
	}
	return nil
}
