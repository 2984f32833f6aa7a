package run

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"batch.example/batch/agent/config"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/printable"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
)

// newManifest returns the manifest of this run.
func (r *Run) newManifest() *manifest.Manifest {
	host, _ := os.Hostname()
	now := time.Now().UTC()
	m := r.About
	m.Go, m.Created, m.Model, m.Price, m.Salvage = runtime.Version(), now, r.Settings.Model.ModelName, r.Model.Price, r.Salvage
	m.Factor = r.Tasks.Factor
	m.Config, m.Prompts = r.settings, r.Settings.Prompts()
	m.Dataset.Count, m.Dataset.Instances = len(r.Instances), ids(r.Instances)
	m.Host = manifest.Host{Name: host, OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()}
	m.Runs = []manifest.Run{{Started: now, Argv: r.Argv, CostLimit: r.CostLimit, Engines: config.Addresses(r.Settings.Environment.Engines), MaskPatterns: r.MaskPatterns}}
	if r.Shards > 1 {
		m.Runs[0].CostShare = r.limit().USD
	}
	return r.masked(&m)
}

// masked returns m with its secrets hidden, as it will be written to its file, so that
// it can be compared with a manifest that was read from a file.
func (r *Run) masked(m *manifest.Manifest) *manifest.Manifest {
	hidden, err := m.Hidden(r.Store.Mask)
	if err != nil {
		return m // writing it will report the error
	}
	return hidden
}

// checkManifest refuses to mix results of different settings in one directory. It copies
// the facts about earlier runs from the directory's manifest into m.
func (r *Run) checkManifest(m *manifest.Manifest) error {
	old, ok := r.read.Manifest()
	if !ok {
		return nil
	}
	if old.OnlyGraded() && !r.replacesAll() {
		return fault.Newf(fault.Usage, "%s has predictions that no run of batch made, and their grades", r.Output).
			WithHint("choose another directory with `-o`")
	}
	var refused []string
	var accepted []manifest.Difference
	for _, d := range m.Differences(old) {
		switch {
		case !d.Matters:
		case slices.ContainsFunc(r.Accept, d.Covers):
			accepted = append(accepted, d)
		default:
			refused = append(refused, d.String())
		}
	}
	if len(refused) > 0 && !r.replacesAll() {
		return fault.Newf(fault.Usage, "%s was made with different settings:\n  %s", r.Output, strings.Join(refused, "\n  ")).
			WithHint("%s", r.acceptHint())
	}
	switch {
	case r.Again:
		m.Dataset = old.Dataset
	case len(refused) == 0 || !r.replacesAll(): // otherwise nothing of the earlier selection is left
		m.Dataset.Add(old.Dataset)
	}
	if !r.replacesAll() {
		m.Mix(old, accepted)
	}
	m.Created = old.Created
	m.Images, m.ModelIDs, m.Versions = old.Images, old.ModelIDs, old.Versions
	m.Runs = append(old.Runs, m.Runs...)
	return nil
}

// acceptHint says what to do if results were made with different settings.
func (r *Run) acceptHint() string {
	if r.Settled {
		return "use the earlier settings, or accept the differences with `--accept-changes=NAME,...` (or `all`)"
	}
	return "choose another directory with `-o`, accept the differences with `--accept-changes=NAME,...` (or `all`),\n" +
		"or run everything in it again with `--redo-existing`"
}

// restartHint says what to do if unfinished attempts were made with different settings.
func (r *Run) restartHint() string {
	other := " choose another directory with `-o`,"
	if r.Settled {
		other = ""
	}
	return "use the earlier settings to resume them," + other + " or start these\n" +
		"instances from the beginning with `--accept-changes=NAME,...` (or `all`); their cost so far stays counted"
}

// settingsOf returns the settings of an attempt at an instance.
func (r *Run) settingsOf(in dataset.Instance) manifest.Settings {
	return manifest.Settings{
		Model: r.Settings.Model.ModelName, Config: r.settings, Price: r.Model.Price, Salvage: r.Salvage, Factor: r.Tasks.Factor, Row: in.Digest(),
		Prompts: r.Settings.Prompts(), Version: r.About.Batch,
	}
}

// checkUnfinished refuses to run instances with an unfinished attempt of different
// settings, unless the differences are accepted. Such an attempt is never resumed: the
// instance starts from the beginning.
func (r *Run) checkUnfinished(todo []Planned) error {
	refused := map[string][]string{} // difference -> ids of instances
	restarted := 0
	for _, p := range todo {
		if len(p.differences) > 0 {
			restarted++
		}
		for _, d := range p.differences {
			if !r.Redo && !r.Fresh && !slices.ContainsFunc(r.Accept, d.Covers) {
				refused[d.String()] = append(refused[d.String()], p.ID)
			}
		}
	}
	if len(refused) > 0 {
		var lines []string
		for _, difference := range slices.Sorted(maps.Keys(refused)) {
			lines = append(lines, fmt.Sprintf("%s (%s)", difference, printable.Some(refused[difference], 1)))
		}
		return fault.Newf(fault.Usage, "%s has unfinished attempts that were made with different settings:\n  %s",
			r.Output, strings.Join(lines, "\n  ")).
			WithHint("%s", r.restartHint())
	}
	if restarted > 0 {
		r.Tell(fmt.Sprintf("settings changed: %s from the beginning", printable.Count(restarted, "unfinished instance starts", "unfinished instances start")))
	}
	return nil
}

// replacesAll reports whether this run replaces every result in the directory.
func (r *Run) replacesAll() bool {
	selected := map[string]bool{}
	for _, in := range r.Instances {
		selected[in.ID] = r.Redo
	}
	return !slices.ContainsFunc(r.read.Records(), func(rec results.Record) bool {
		return rec.Outcome.Final() && !rec.Replaced && !selected[rec.InstanceID]
	})
}

// completeManifest adds which images and models were used, and when this run ended.
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
		m.ModelIDs, m.Versions = withName(m.ModelIDs, r.ModelID), withName(m.Versions, r.AgentVersion)
	}
	return store.WriteManifest(m)
}

// withName adds a name to a sorted list, unless it is empty or there.
func withName(sorted []string, name string) []string {
	if at, there := slices.BinarySearch(sorted, name); name != "" && !there {
		return slices.Insert(sorted, at, name)
	}
	return sorted
}

// Version returns the module's version, or the commit that it was built from.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	if len(revision) >= 12 {
		return "devel-" + revision[:12] + dirty
	}
	return "devel"
}
