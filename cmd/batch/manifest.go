package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"batch.example/batch/agent/config"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

// manifest says what this command is about to run.
func (a *app) manifest(f runFlags, cfg *config.Config, price *vocab.Price, ds *dataset.Dataset, selected []dataset.Instance) *results.Manifest {
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
		Prompts: cfg.Prompts(),
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
		return fault.Newf(fault.Usage, "%s was made with different settings:\n  %s", s.flags.output, strings.Join(refused, "\n  ")).
			WithHint("give another directory with -o, continue all the same with --accept-changes=NAME,... (or all),\n" +
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

// settings is what an attempt at an instance is made under.
func (s *sweep) settings(in dataset.Instance) results.Settings {
	return results.Settings{
		Model: s.cfg.Model.ModelName, Config: s.resolved, Price: s.model.price, Salvage: s.flags.salvage, Row: in.Digest(),
	}
}

// checkUnfinished refuses to run instances whose unfinished attempt was made under
// other settings, unless the differences are accepted: then they start afresh,
// since an attempt is never resumed under settings that are not its own.
func (s *sweep) checkUnfinished(todo []dataset.Instance) error {
	refused := map[string][]string{} // by difference: instances
	afresh := 0
	for _, in := range todo {
		was, ok := s.store.Resumable(in.ID)
		if !ok {
			continue
		}
		differences := s.settings(in).Differences(was)
		if len(differences) > 0 {
			afresh++
		}
		for _, d := range differences {
			if !s.flags.redo && !s.flags.fresh && !slices.ContainsFunc(s.flags.accept, d.Covers) {
				refused[d.String()] = append(refused[d.String()], in.ID)
			}
		}
	}
	if len(refused) > 0 {
		var lines []string
		for _, difference := range slices.Sorted(maps.Keys(refused)) {
			lines = append(lines, fmt.Sprintf("%s (%s)", difference, some(refused[difference])))
		}
		return fault.Newf(fault.Usage, "%s has unfinished attempts that were made with different settings:\n  %s",
			s.flags.output, strings.Join(lines, "\n  ")).
			WithHint("use the former settings to resume them, or give another directory with -o, or start these\n" +
				"instances from the beginning with --accept-changes=NAME,... (or all); what they have cost stays counted")
	}
	if afresh > 0 {
		fmt.Fprintf(s.stderr, "batch: settings changed: %s from the beginning\n", plural(afresh, "unfinished instance starts", "unfinished instances start"))
	}
	return nil
}

// some names the first of several instances.
func some(ids []string) string {
	if len(ids) == 1 {
		return ids[0]
	}
	return fmt.Sprintf("%s and %d more", ids[0], len(ids)-1)
}

func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
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
