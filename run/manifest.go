package run

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
)

// newManifest says what this run is about to do.
func (r *Run) newManifest() *manifest.Manifest {
	host, _ := os.Hostname()
	now := time.Now().UTC()
	m := r.About
	m.Go, m.Created, m.Model, m.Price, m.Salvage = runtime.Version(), now, r.Settings.Model.ModelName, r.Model.Price, r.Salvage
	m.Config, m.Prompts = r.settings, r.Settings.Prompts()
	m.Dataset.Count, m.Dataset.Instances = len(r.Instances), ids(r.Instances)
	m.Host = manifest.Host{Name: host, OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()}
	m.Runs = []manifest.Run{{Started: now, Argv: r.Argv}}
	return r.hideIn(&m)
}

// hideIn returns m as it will be read from its file, with its secrets hidden,
// so that it can be compared with one that was.
func (r *Run) hideIn(m *manifest.Manifest) *manifest.Manifest {
	data, err := json.Marshal(m)
	if err != nil {
		return m // writing it will say why
	}
	var hidden manifest.Manifest
	if err := json.Unmarshal(r.Store.Mask.JSON(data), &hidden); err != nil {
		return m
	}
	return &hidden
}

// reconcile compares the manifest with the directory's: results of different
// configs, models or datasets in one directory could not be compared. What an
// earlier run said is kept.
func (r *Run) reconcile(m *manifest.Manifest) error {
	old, ok := r.store.Manifest()
	if !ok {
		return nil
	}
	var refused []string
	for _, d := range m.Differences(old) {
		if d.Matters && !slices.ContainsFunc(r.Accept, d.Covers) {
			refused = append(refused, d.String())
		}
	}
	if len(refused) > 0 && !r.replacesAll() {
		return fault.Newf(fault.Usage, "%s was made with different settings:\n  %s", r.Output, strings.Join(refused, "\n  ")).
			WithHint("give another directory with -o, continue all the same with --accept-changes=NAME,... (or all),\n" +
				"or run everything in it again with --redo-existing")
	}
	if r.Again {
		m.Dataset = old.Dataset // what was asked for is more than what is tried again
	}
	m.Created = old.Created
	m.Images, m.ModelIDs = old.Images, old.ModelIDs
	m.Runs = append(old.Runs, m.Runs...)
	return nil
}

// madeUnder is what an attempt at an instance is made under.
func (r *Run) madeUnder(in dataset.Instance) manifest.Settings {
	return manifest.Settings{
		Model: r.Settings.Model.ModelName, Config: r.settings, Price: r.Model.Price, Salvage: r.Salvage, Row: in.Digest(),
		Prompts: r.Settings.Prompts(), Version: r.About.Batch,
	}
}

// checkUnfinished refuses to run instances whose unfinished attempt was made under
// other settings, unless the differences are accepted: then they start afresh,
// since an attempt is never resumed under settings that are not its own.
func (r *Run) checkUnfinished(todo []dataset.Instance) error {
	refused := map[string][]string{} // by difference: instances
	afresh := 0
	for _, in := range todo {
		was, ok := r.store.Resumable(in.ID)
		if !ok {
			continue
		}
		differences := r.madeUnder(in).Differences(was)
		if len(differences) > 0 {
			afresh++
		}
		for _, d := range differences {
			if !r.Redo && !r.Fresh && !slices.ContainsFunc(r.Accept, d.Covers) {
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
			r.Output, strings.Join(lines, "\n  ")).
			WithHint("use the former settings to resume them, or give another directory with -o, or start these\n" +
				"instances from the beginning with --accept-changes=NAME,... (or all); what they have cost stays counted")
	}
	if afresh > 0 {
		r.Tell(fmt.Sprintf("settings changed: %s from the beginning", plural(afresh, "unfinished instance starts", "unfinished instances start")))
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
func (r *Run) replacesAll() bool {
	selected := map[string]bool{}
	for _, in := range r.Instances {
		selected[in.ID] = r.Redo
	}
	return !slices.ContainsFunc(r.store.Records(), func(rec results.Record) bool {
		return rec.Outcome.Final() && !selected[rec.InstanceID]
	})
}

// completeManifest notes what ran and when this run ended.
func completeManifest(store *results.Store, m *manifest.Manifest) error {
	now := time.Now().UTC()
	m.Runs[len(m.Runs)-1].Ended = &now
	if m.Images == nil {
		m.Images = map[string]manifest.Image{}
	}
	for _, r := range store.Records() {
		if r.ImageID != "" {
			m.Images[r.InstanceID] = manifest.Image{Ref: r.Image, ID: r.ImageID, Digest: r.ImageDigest}
		}
		if r.ModelID != "" && !slices.Contains(m.ModelIDs, r.ModelID) {
			m.ModelIDs = append(m.ModelIDs, r.ModelID)
		}
	}
	slices.Sort(m.ModelIDs)
	return store.WriteManifest(m)
}
