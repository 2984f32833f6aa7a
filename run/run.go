// Package run is a run as a library: a configuration, the instances that are asked for
// and a directory go in, a summary comes out. `batch run` is one, and so is each cell
// of a sweep.
//
// [Open] takes the directory, refuses what must not be mixed with what stands in it, and
// finds out what is left to do; [Run.Work] does it; [Run.Summary] says how all ended.
// Whatever ends a run, another one into the same directory goes on from there.
//
// The package knows no flags and prints nothing: what a person may see goes through
// [View], and what belongs to the process (signals, variables, arguments) is handed in.
package run

import (
	"path/filepath"
	"slices"

	"batch.example/batch/agent"
	"batch.example/batch/agent/config"
	"batch.example/batch/dataset"
	"batch.example/batch/docker/containers"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/runner"
	"batch.example/batch/sandbox"
)

// Config says what is run, and where. Output, Settings, Loop, Instances, Model and
// Sandboxes are needed.
type Config struct {
	Output    string // the run directory
	Settings  *config.Config
	Loop      *agent.Loop        // which [Prepare] made of Settings
	Instances []dataset.Instance // that are asked for
	Model     Model
	Sandboxes sandbox.Config  // which [Environment] made of Settings, with what is known of the machine
	Store     results.Options // without Owner and Log; its Inject also makes calls to the engine and the model fail

	// About is the manifest as far as only the caller knows it: the version, the
	// command that this is, the dataset and its seed. Git may be asked for later.
	About manifest.Manifest
	Git   func() *manifest.Git // nil: unknown
	Argv  []string             // of this process; About has that of the `batch run` which it repeats

	Width     *runner.Width  // instances at once; nil: one
	WidthWhy  string         // why so many; said when work begins
	ByImage   bool           // instances that share an image run near each other
	Retries   runner.Retries // nil: the default ones
	CostLimit float64        // US dollars that all runs into Output may cost together; 0: none
	Salvage   bool           // a missing submission is predicted from the work tree

	Redo   bool     // also the instances that have a result
	Again  bool     // the results of Instances are forgotten before; About's Dataset is that of the run before
	Fresh  bool     // and unfinished attempts start from the beginning
	Accept []string // names of differences from what Output was made with, see [manifest.Difference.Covers]

	Tell func(text string) // told what a person should know before work begins; nil ignores
}

// Run is a run directory that is this process's to work in.
type Run struct {
	Config
	settings any // resolved, for journals
	store    *results.Store
	manifest *manifest.Manifest
	todo     []dataset.Instance
	began    bool
	sum      runner.Summary
}

// Open locks the directory and compares what it was made with. Differences that are not
// accepted are Usage faults, and leave all in it as it was. The caller closes the Run.
func Open(c Config) (_ *Run, err error) {
	if c.Tell == nil {
		c.Tell = func(string) {}
	}
	if c.Git == nil {
		c.Git = func() *manifest.Git { return nil }
	}
	if c.Retries == nil {
		c.Retries = runner.DefaultRetries()
	}
	c.Store.Owner = lockOwner()
	if plan := c.Store.Inject; plan != nil {
		c.Sandboxes.Docker.Before = func(call string) error { return plan.At("engine." + call) }
	}
	r := &Run{Config: c, settings: c.Settings.Resolved()}
	if r.store, err = results.Open(c.Output, c.Store); err != nil {
		return nil, err
	}
	if err := r.prepare(); err != nil {
		_ = r.store.Close() // the error says more
		return nil, err
	}
	return r, nil
}

func (r *Run) prepare() error {
	for _, told := range r.store.Recovered() {
		r.Tell(told)
	}
	r.manifest = r.newManifest()
	if err := r.reconcile(r.manifest); err != nil {
		return err
	}
	if err := r.checkUnfinished(r.pending()); err != nil {
		return err
	}
	if r.Again {
		if err := r.store.Reset(ids(r.Instances), r.Fresh); err != nil {
			return err
		}
	}
	r.todo = r.pending()
	if r.ByImage {
		r.todo = ByImage(r.todo, r.Sandboxes.Prefix)
	}
	return nil
}

// pending returns the instances that have no result yet, in order. Those that
// are run again keep their result until they start.
func (r *Run) pending() []dataset.Instance {
	if r.Redo {
		return r.Instances
	}
	return slices.DeleteFunc(slices.Clone(r.Instances), func(in dataset.Instance) bool {
		_, done := r.store.Finished(in.ID)
		return done
	})
}

// Todo is how many instances are left to run.
func (r *Run) Todo() int { return len(r.todo) }

// Summary says how the instances that were asked for have ended so far, in this run
// and those before.
type Summary struct {
	runner.Summary                  // of this run's work
	Began          bool             // instances were admitted
	Asked          []string         // ids of the instances
	Records        []results.Record // of all attempts, also at other instances
	Spent          float64          // US dollars, of all runs into the directory
	Missing        int              // instances asked for without a result
}

// Summary also works when the Run is closed.
func (r *Run) Summary() Summary {
	s := Summary{Summary: r.sum, Began: r.began, Asked: ids(r.Instances), Records: r.store.Records(), Spent: r.store.Spent()}
	for _, in := range r.Instances {
		if _, done := r.store.Finished(in.ID); !done {
			s.Missing++
		}
	}
	return s
}

// Close completes the files of the directory and leaves it to others. It may be called
// twice.
func (r *Run) Close() error { return r.store.Close() }

// lease is what containers name as their lease: the directory's lock, in
// which the owner of the moment stands.
func lease(dir string) string {
	path := results.LockPath(dir)
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// lockOwner is what stands in the lock: a line for people, and one for the
// reapers of other runs.
func lockOwner() string { return results.DefaultOwner() + "\n" + containers.Owner() }

func ids(list []dataset.Instance) []string {
	ids := make([]string, len(list))
	for i, in := range list {
		ids[i] = in.ID
	}
	return ids
}
