package compare

import (
	"fmt"
	"strings"

	"batch.example/batch/internal/printable"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/scores"
)

// settings returns the differences between the first attempts of two entries that affect results.
// The models are left out, since the comparison is between them.
func settings(a, b scores.Side) []manifest.Difference {
	list := []manifest.Difference{}
	ma, mb := manifestOf(a), manifestOf(b)
	if ma == nil || mb == nil {
		return list
	}
	for _, d := range mb.Differences(ma) {
		dataset := d.Covers("dataset")
		if d.Matters && (dataset || !ma.OnlyGraded() && !mb.OnlyGraded()) && d.Name != "model" && d.Name != "model.model_name" {
			list = append(list, d)
		}
	}
	return list
}

// manifestOf returns nil for an entry that is not a run directory of batch.
func manifestOf(e scores.Side) *manifest.Manifest {
	for _, a := range e.Runs {
		if a.Snapshot != nil && a.Snapshot.Manifest != nil {
			return a.Snapshot.Manifest
		}
	}
	return nil
}

// mostSettings is the number of settings that a note names.
const mostSettings = 5

// settingNotes describes settings that may explain a difference, beside the model.
func settingNotes(p Pair) []string {
	var list, names []string
	dataset := false
	for _, d := range p.Settings {
		if d.Covers("dataset") {
			dataset = true
		} else {
			names = append(names, d.Name)
		}
	}
	if dataset {
		list = append(list, fmt.Sprintf("%s and %s ran different datasets, or versions of one; --json has both", p.A, p.B))
	}
	if n := len(names); n > 0 {
		text := strings.Join(names[:min(n, mostSettings)], ", ")
		if n > mostSettings {
			text += fmt.Sprintf(" and %d more", n-mostSettings)
		}
		list = append(list, fmt.Sprintf("%s and %s also differ in %s: %s; --json has the values", p.A, p.B,
			printable.Count(n, "setting that affects results", "settings that affect results"), text))
	}
	return list
}

// withoutManifest names the entries with unknown settings.
func withoutManifest(entries []scores.Side) []string {
	var list []string
	for _, e := range entries {
		if manifestOf(e) == nil {
			list = append(list, e.Name)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return []string{"settings and datasets are not compared: there is no manifest.json for " + strings.Join(list, ", ")}
}
