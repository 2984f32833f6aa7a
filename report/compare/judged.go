package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"batch.example/batch/internal/printable"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/scores"
	"batch.example/batch/vocab"
)

// Judged is a difference in how the verdicts of two entries were made, beside the patch, and the
// number of compared instances with it.
type Judged struct {
	What      string `json:"what"` // in words: "another network"
	Instances int    `json:"instances"`
	A         string `json:"a,omitempty"` // A's value, if it is short and the same everywhere
	B         string `json:"b,omitempty"`
}

// notRecorded counts verdicts without a record of how they were made.
const notRecorded = "what the verdict was made by is not recorded on one side"

// aspects are the inputs of a verdict beside the patch, in display order.
var aspects = []struct {
	what string
	of   func(g *grades.Grade) string
	show bool // the values are meaningful to a person
}{
	{"other rules", func(g *grades.Grade) string { return g.Rules }, true},
	{"other rules of batch itself", func(g *grades.Grade) string { return recorded(g, fmt.Sprint(g.Basis.Rules)) }, false},
	{"another network", func(g *grades.Grade) string { return g.Basis.Network }, true},
	{"another parser", func(g *grades.Grade) string { return g.Parser }, true},
	{"another version of the parser's program", func(g *grades.Grade) string { return recorded(g, "program "+g.Basis.Parser) }, false},
	{"other expected tests", func(g *grades.Grade) string { return g.Basis.Tests }, false},
	{"another eval script", func(g *grades.Grade) string { return g.Script }, false},
	{"another version of the row (files of the tests, gold patch or setup)", func(g *grades.Grade) string {
		return recorded(g, g.Basis.Files+" "+g.Basis.Gold+" "+g.Basis.Setup)
	}, false},
	{"other limits", func(g *grades.Grade) string { return g.Basis.Limits }, false},
}

// recorded returns value, or "" for a grade without a record of how it was made.
func recorded(g *grades.Grade, value string) string {
	if g.Basis == (grades.Basis{}) {
		return ""
	}
	return value
}

// judged counts the compared instances with verdicts that were made differently on the two sides.
// It returns nil if an entry has no grades by batch.
func judged(a, b side) []Judged {
	ga, gb := gradesOf(a), gradesOf(b)
	if len(ga) == 0 || len(gb) == 0 {
		return nil
	}
	count, values := map[string]int{}, map[string]map[[2]string]bool{}
	for _, id := range slices.Sorted(maps.Keys(ga)) {
		if !a.at(id).scored() || !b.at(id).scored() || len(gb[id]) == 0 {
			continue
		}
		for what, pair := range differences(ga[id], gb[id]) {
			count[what]++
			if values[what] == nil {
				values[what] = map[[2]string]bool{}
			}
			values[what][pair] = true
		}
	}
	var list []Judged
	add := func(what string, show bool) {
		if count[what] == 0 {
			return
		}
		j := Judged{What: what, Instances: count[what]}
		if show && len(values[what]) == 1 {
			for pair := range values[what] {
				j.A, j.B = pair[0], pair[1]
			}
		}
		list = append(list, j)
	}
	for _, aspect := range aspects {
		add(aspect.what, aspect.show)
	}
	add(otherImage, false)
	add(notRecorded, false)
	return list
}

const otherImage = "another image"

// differences returns the differences between the grades of an instance, each with an example.
func differences(a, b []*grades.Grade) map[string][2]string {
	found := map[string][2]string{}
	for _, x := range a {
		for _, y := range b {
			for _, aspect := range aspects {
				if now, was := aspect.of(x), aspect.of(y); now != was && now != "" && was != "" {
					found[aspect.what] = [2]string{now, was}
				}
			}
			if differentImage(x, y) {
				found[otherImage] = [2]string{}
			}
			if (x.Basis == grades.Basis{}) != (y.Basis == grades.Basis{}) {
				found[notRecorded] = [2]string{}
			}
		}
	}
	return found
}

// differentImage compares the digests of the registry or, if one is unknown, the image ids: one
// image has several ids on engines of different kinds.
func differentImage(x, y *grades.Grade) bool {
	if x.ImageDigest != "" && y.ImageDigest != "" {
		return x.ImageDigest != y.ImageDigest
	}
	return x.ImageID != "" && y.ImageID != "" && x.ImageID != y.ImageID
}

// gradesOf returns the grades that count in the attempts of an entry, by instance. Grades of empty
// predictions are left out, since nothing was run for them.
func gradesOf(s side) map[string][]*grades.Grade {
	all := map[string][]*grades.Grade{}
	for _, a := range s.scores.Runs {
		if a.Snapshot == nil {
			continue
		}
		last := results.Latest(a.Snapshot.Records)
		for id, r := range last {
			if r.Grade != nil && r.Grade.Verdict.Counts() && r.Grade.Verdict != vocab.VerdictEmpty && a.At(id).Resolved != nil {
				all[id] = append(all[id], r.Grade)
			}
		}
	}
	return all
}

// judgedNotes describes p.Judged in one note.
func judgedNotes(p Pair) []string {
	var parts []string
	for _, j := range p.Judged {
		part := fmt.Sprintf("%s (%s", j.What, printable.Count(j.Instances, "instance", "instances"))
		if j.A != "" {
			part += fmt.Sprintf(", %s and %s", j.A, j.B)
		}
		parts = append(parts, part+")")
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("the verdicts of %s and %s were not made in the same way: %s", p.A, p.B, strings.Join(parts, "; "))}
}

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
		list = append(list, fmt.Sprintf("%s and %s also differ in %s: %s; --json has the values", p.A, p.B,
			printable.Count(n, "setting that affects results", "settings that affect results"), printable.Some(names, mostSettings)))
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
