package main

import (
	"encoding/json"
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
func (a *app) manifest(f runFlags, cfg *config.Config, price *results.Price, ds *dataset.Dataset, selected []dataset.Instance) *results.Manifest {
	host, _ := os.Hostname()
	dir, _ := os.Getwd() // without it, relative paths are only right from here
	now := time.Now().UTC()
	return a.hideIn(&results.Manifest{
		Batch:   version(),
		Go:      runtime.Version(),
		Created: now,
		Argv:    f.argv,
		Dir:     dir,
		Model:   cfg.Model.ModelName,
		Price:   price,
		Seed:    f.seed,
		Salvage: f.salvage,
		Config:  cfg.Resolved(),
		Dataset: results.Dataset{
			Name: ds.Name, Split: ds.Split, Revision: ds.Revision, Digest: ds.Digest,
			Selection: f.selection(), Count: len(selected), Instances: ids(selected),
		},
		Host: results.Host{Name: host, OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()},
		Runs: []results.Run{{Started: now, Argv: maskArgs(a.args)}},
	})
}

// hideIn returns m as it will be read from its file, with its secrets hidden,
// so that it can be compared with one that was.
func (a *app) hideIn(m *results.Manifest) *results.Manifest {
	data, err := json.Marshal(m)
	if err != nil {
		return m // writing it will say why
	}
	var hidden results.Manifest
	if err := json.Unmarshal(a.mask.JSON(data), &hidden); err != nil {
		return m
	}
	return &hidden
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

// acceptAll is what --accept-changes takes every difference for.
const acceptAll = "all"

// reconcile compares the manifest with the directory's: results of different
// configs, models or datasets in one directory could not be compared. What an
// earlier run said is kept.
func (s *sweep) reconcile(m *results.Manifest) error {
	old, ok := s.store.Manifest()
	if !ok {
		return nil
	}
	var refused []string
	for _, d := range m.Differences(old) {
		if d.Matters && !slices.ContainsFunc(s.flags.accept, d.Covers) {
			refused = append(refused, d.String())
		}
	}
	if len(refused) > 0 && !s.replacesAll() {
		return fault.Newf(fault.Usage, "%s holds results of something else:\n  %s", s.flags.output, strings.Join(refused, "\n  ")).
			WithHint("give another directory with -o, go on all the same with --accept-changes=NAME,... (or all),\n" +
				"or run everything in it again with --redo-existing")
	}
	if s.flags.retrying {
		m.Dataset = old.Dataset // what was asked for is more than what is tried again
	}
	m.Created = old.Created
	m.Images, m.ModelIDs = old.Images, old.ModelIDs
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

// completeManifest notes what ran and when this run ended.
func completeManifest(store *results.Store, m *results.Manifest) error {
	now := time.Now().UTC()
	m.Runs[len(m.Runs)-1].Ended = &now
	if m.Images == nil {
		m.Images = map[string]results.Image{}
	}
	for _, r := range store.Records() {
		if r.ImageID != "" {
			m.Images[r.InstanceID] = results.Image{Ref: r.Image, ID: r.ImageID, Digest: r.ImageDigest}
		}
		if r.ModelID != "" && !slices.Contains(m.ModelIDs, r.ModelID) {
			m.ModelIDs = append(m.ModelIDs, r.ModelID)
		}
	}
	slices.Sort(m.ModelIDs)
	return store.WriteManifest(m)
}
