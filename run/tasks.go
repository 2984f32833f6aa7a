package run

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"batch.example/batch/agent/config"
	"batch.example/batch/attempt"
	"batch.example/batch/dataset"
	"batch.example/batch/dataset/harbor"
	"batch.example/batch/fault"
	"batch.example/batch/grade/verifier"
	"batch.example/batch/internal/mask"
	"batch.example/batch/internal/printable"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/results/grades"
	"batch.example/batch/run/engines"
	"batch.example/batch/run/grading"
	"batch.example/batch/sandbox"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/vocab"
)

// tasksOf returns the tasks among instances, by id.
func tasksOf(list []dataset.Instance) map[string]*harbor.Task {
	tasks := map[string]*harbor.Task{}
	for _, in := range list {
		if in.Task != nil {
			tasks[in.ID] = in.Task
		}
	}
	return tasks
}

// checkTaskFolders refuses tasks that ask for what batch does not do, before anything is paid.
func checkTaskFolders(selected []dataset.Instance) error {
	const most = 20
	var lines []string
	n := 0
	for _, in := range selected {
		if in.Task == nil || len(in.Task.Refused) == 0 {
			continue
		}
		if n++; n <= most {
			lines = append(lines, in.ID+": "+strings.Join(in.Task.Refused, "; "))
		}
	}
	if n == 0 {
		return nil
	}
	if n > most {
		lines = append(lines, fmt.Sprintf("and %d more", n-most))
	}
	return fault.Newf(fault.Usage, "%d of %s cannot be run:\n  %s", n, printable.Count(len(selected), "task", "tasks"), strings.Join(lines, "\n  ")).
		WithHint("leave them out: --instances FILE keeps the tasks whose ids FILE lists, one per line; see `batch help task-folders`")
}

// TaskSettings returns what a request says about tasks. The variables that they may read are hidden as
// secrets.
func (p Process) TaskSettings(r Request) verifier.Settings {
	for _, name := range r.TaskEnv {
		p.Mask.Add(mask.PassedOn(name, p.Getenv(name))...)
	}
	return verifier.Settings{Mask: p.Mask, Factor: r.TimeoutMultiplier, Host: func(name string) (string, bool) {
		return p.Getenv(name), slices.Contains(r.TaskEnv, name)
	}}
}

// ForTasks adds to sandboxes what the tasks among instances need.
func (p Process) ForTasks(c *sandbox.Config, cfg *config.Config, r Request, list []dataset.Instance) error {
	tasks := tasksOf(list)
	if len(tasks) == 0 {
		return nil
	}
	settings := p.TaskSettings(r)
	given := func(key string) bool { return cfg.Given("environment." + key) }
	c.Tasks = sandbox.Tasks{Host: settings.Host, Network: given("network"), Memory: given("memory"), CPUs: given("cpus"), Disk: given("disk")}
	c.ShareScrubs = false // the history is a part of a task
	c.Options.Builds = map[string]engine.Build{}
	pods := slices.ContainsFunc(c.Engines, func(e sandbox.Engine) bool { return engines.HasPods(e.Address) })
	open := 0
	for _, in := range list {
		t := in.Task
		if t == nil {
			continue
		}
		if err := settings.Check(t); err != nil {
			return err
		}
		if t.Network == harbor.Public {
			open++
		}
		for _, made := range []*harbor.Task{t, t.Separate} {
			if made != nil && made.Built() {
				c.Options.Builds[made.ImageName()] = engine.Build{Folder: made.BuildFolder(), Limit: settings.Times(made.BuildLimit)}
			}
		}
		if pods && len(c.Options.Builds) > 0 {
			return fault.Newf(fault.Usage, "%s: its image is built from environment/Dockerfile, which a Kubernetes cluster cannot do", in.ID).
				WithHint("build the image, push it to a registry, and name it as environment.docker_image in its task.toml")
		}
	}
	if open > 0 && !c.Tasks.Network {
		p.tell(fmt.Sprintf("THE NETWORK IS OPEN to the agent in %d of %s, as their task.toml says: --network none closes it, but a verifier that downloads something then fails",
			open, printable.Count(len(tasks), "task", "tasks")))
	}
	return nil
}

// openVerifier opens the container of a separate verifier.
func (r *Run) openVerifier(in dataset.Instance) verifier.Open {
	return func(ctx context.Context) (verifier.Box, func(), error) {
		box, err := r.host.Open(ctx, sandbox.Opening{Instance: in.Verifier(), Report: func(string) {}, Pristine: true})
		if err != nil {
			return nil, nil, err
		}
		return box, func() { _ = box.Close() }, nil // never fails: the host's log has a failure
	}
}

// verify runs the verifier of a task in the container of an attempt that has ended, and records the
// verdict. The prediction is not final yet: if this process is killed before it is, the attempt is
// resumed, and verified again.
func (r *Run) verify(ctx context.Context, done attempt.Finished) error {
	t := done.Instance.Task
	if t == nil {
		return nil
	}
	box, ok := done.Box.(verifier.Box)
	if !ok {
		return fault.Newf(fault.Bug, "verifying %s: a sandbox of type %T", done.Instance.ID, done.Box)
	}
	log, err := r.store.Grades()
	if err != nil {
		return err
	}
	g := grades.Grade{
		InstanceID: done.Instance.ID, Attempt: done.Attempt, Model: r.Settings.Model.ModelName, Patch: grades.PatchDigest(done.Prediction),
		Image: done.Facts.Image.Ref, ImageID: done.Facts.Image.ID, ImageDigest: done.Facts.Image.Digest, Engine: done.Facts.Engine,
		Started: time.Now().UTC(),
	}
	settings := grading.Settings{Tasks: r.Tasks}
	files, err := settings.GradeTask(ctx, box, t, r.openVerifier(done.Instance), &g)
	if err != nil {
		return err
	}
	files.Patch = []byte(done.Prediction)
	dir, err := swebench.LogDir(r.Output, settings.RunIDOf(r.Output), g.Model, g.InstanceID)
	if err == nil {
		err = files.Replace(dir)
	}
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(r.Output, dir); err == nil {
		g.Log = filepath.ToSlash(rel)
	}
	g.Time.Total = time.Since(g.Started).Seconds()
	if err := log.Add(g); err != nil {
		return err
	}
	r.view.Event(vocab.Event{Type: vocab.EventGraded, Instance: g.InstanceID, Verdict: g.Verdict, Error: g.Why})
	return nil
}
