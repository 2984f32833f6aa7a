package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"batch.example/batch/agent/config"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/results"
)

// manifest says what this command is about to run.
func (a *app) manifest(f runFlags, cfg *config.Config, ds *dataset.Dataset, selected []dataset.Instance) *results.Manifest {
	host, _ := os.Hostname()
	argv := maskArgs(a.args)
	now := time.Now().UTC()
	return &results.Manifest{
		Batch:   version(),
		Go:      runtime.Version(),
		Created: now,
		Argv:    argv,
		Model:   cfg.Model.ModelName,
		Seed:    f.seed,
		Config:  cfg.Resolved(),
		Dataset: results.Dataset{
			Name: ds.Name, Split: ds.Split, Revision: ds.Revision, Digest: ds.Digest,
			Selection: f.selection(), Count: len(selected),
		},
		Host: results.Host{Name: host, OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()},
		Runs: []results.Run{{Started: now, Argv: argv}},
	}
}

// maskArgs hides the values of arguments that look like keys.
func maskArgs(args []string) []string {
	masked := make([]string, len(args))
	for i, arg := range args {
		masked[i] = config.MaskSpec(arg)
	}
	return masked
}

// selection writes the selecting flags as they would be given.
func (f *sourceFlags) selection() string {
	var parts []string
	for _, p := range []struct{ flag, value string }{
		{"filter", f.filter}, {"slice", f.slice}, {"instances", f.instances}, {"shard", f.shard},
	} {
		if p.value != "" {
			parts = append(parts, fmt.Sprintf("--%s %q", p.flag, p.value))
		}
	}
	if f.shuffle {
		parts = append(parts, fmt.Sprintf("--shuffle --seed %d", f.seed))
	}
	return strings.Join(parts, " ")
}

// reconcile compares the manifest with the directory's: results of different
// configs, models or datasets in one directory could not be compared. What an
// earlier run said is kept.
func (s *sweep) reconcile(m *results.Manifest) error {
	old, ok := s.store.Manifest()
	if !ok {
		return nil
	}
	diffs := m.Differences(old)
	if len(diffs) > 0 && !s.flags.acceptsChanges && !s.replacesAll() {
		return fault.Newf(fault.Usage, "%s holds results of something else:\n  %s", s.flags.output, strings.Join(diffs, "\n  ")).
			WithHint("give another directory with -o, go on all the same with --accept-changes,\n" +
				"or run everything in it again with --redo-existing")
	}
	m.Created = old.Created
	m.Images = old.Images
	m.Runs = append(old.Runs, m.Runs...)
	return nil
}

// replacesAll reports whether no result in the directory outlives this run.
func (s *sweep) replacesAll() bool {
	selected := map[string]bool{}
	for _, in := range s.selected {
		selected[in.ID] = s.flags.redo
	}
	return !slices.ContainsFunc(s.store.Records(), func(r results.Record) bool {
		return r.Outcome.Final() && !selected[r.InstanceID]
	})
}

// completeManifest notes the images that ran and when this run ended. digest
// tells that of the image with an id, where this run has used it.
func completeManifest(store *results.Store, m *results.Manifest, digest func(id string) string) error {
	now := time.Now().UTC()
	m.Runs[len(m.Runs)-1].Ended = &now
	if m.Images == nil {
		m.Images = map[string]results.Image{}
	}
	for _, r := range store.Records() {
		if r.ImageID != "" {
			image := results.Image{Ref: r.Image, ID: r.ImageID, Digest: digest(r.ImageID)}
			if old := m.Images[r.InstanceID]; image.Digest == "" && old.ID == image.ID {
				image.Digest = old.Digest
			}
			m.Images[r.InstanceID] = image
		}
	}
	return store.WriteManifest(m)
}
