package report

import (
	"maps"
	"slices"
	"strings"

	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/vocab"
)

// Diff compares two run directories, A and B. `batch diff --json` writes it. Instances that only
// one directory knows are counted and not compared.
type Diff struct {
	A        Status                `json:"a"`        // without its instances and records
	B        Status                `json:"b"`        // likewise
	Manifest []manifest.Difference `json:"manifest"` // settings and other values; "was" is A's value, "now" is B's
	// Unsettled names the directories without a manifest, for which no settings are compared.
	Unsettled []string `json:"without_manifest,omitempty"`
	// OnlyGraded is a directory that batch grade made from predictions, if the other one is a
	// run's: then only the datasets are compared.
	OnlyGraded string `json:"only_graded,omitempty"`

	SameOutcome int     `json:"same_outcome"`      // instances with the same exit status, outcome and verdict
	Different   int     `json:"different_outcome"` // the other instances
	OnlyA       int     `json:"only_a"`            // instances that B does not know
	OnlyB       int     `json:"only_b"`
	LeftOut     LeftOut `json:"left_out,omitzero"` // according to DiffOptions.Common

	Patches  PatchCount   `json:"patches"`
	Resolved VerdictCount `json:"resolved,omitzero"` // of instances graded in both
	TotalA   DiffTotal    `json:"total_a"`           // of the compared instances with a result in A
	TotalB   DiffTotal    `json:"total_b"`

	// Instances has the instances with different outcomes, or all compared ones: see
	// DiffOptions.All.
	Instances []InstanceDiff `json:"instances"`

	changes map[[2]string]int // how many instances changed from one outcome to another
}

// DiffOptions choose the instances of a [Diff].
type DiffOptions struct {
	Common bool // compare only the instances that have a result in both
	All    bool // list the instances with the same outcome too
}

// LeftOut counts the instances without a result in A, in B, or in both.
type LeftOut struct {
	A       int `json:"no_result_in_a"` // with a result in B
	B       int `json:"no_result_in_b"` // with a result in A
	Neither int `json:"no_result_in_either"`
}

// PatchCount compares the predicted patches byte by byte. Instances without a prediction in A or in
// B do not count.
type PatchCount struct {
	Equal     int `json:"equal"`
	Different int `json:"different"` // also if only one is empty
	None      int `json:"none"`      // both are empty
}

// VerdictCount counts instances by the sides that resolved them.
type VerdictCount struct {
	Both    int `json:"both"`
	OnlyA   int `json:"only_a"`
	OnlyB   int `json:"only_b"`
	Neither int `json:"neither"`
}

// DiffTotal summarizes one side. Unknown steps, costs and times are left out of the medians; the
// median of no values is null.
type DiffTotal struct {
	Instances     int      `json:"instances"`
	Patches       int      `json:"patches"` // non-empty patches
	Graded        int      `json:"graded"`  // without quarantined instances
	Resolved      int      `json:"resolved"`
	Quarantined   int      `json:"quarantined"` // in A or in B
	Steps         int      `json:"steps"`
	Cost          float64  `json:"cost"`
	Seconds       float64  `json:"seconds"`
	StepsMedian   *float64 `json:"steps_median"`
	CostMedian    *float64 `json:"cost_median"`
	SecondsMedian *float64 `json:"seconds_median"`
	Measured      int      `json:"measured"` // instances with known steps and costs
	Timed         int      `json:"timed"`    // instances with a known time
}

// InstanceDiff is one instance in both directories.
type InstanceDiff struct {
	ID string `json:"instance_id"`
	// A and B are the outcomes as in the tables, with "salvaged" and, if both are graded, the
	// verdict: "LimitsExceeded, salvaged, resolved".
	A           string `json:"a"`
	B           string `json:"b"`
	SameOutcome bool   `json:"same_outcome"`
	// Patch is "equal", "different", "none" (both are empty), or empty if a prediction is missing.
	Patch   string         `json:"patch,omitempty"`
	RecordA results.Record `json:"a_record"`
	RecordB results.Record `json:"b_record"`
}

// NewDiff compares two directories.
func NewDiff(a, b *results.Snapshot, o DiffOptions) Diff {
	d := Diff{A: NewStatus(a), B: NewStatus(b), Manifest: []manifest.Difference{}, Instances: []InstanceDiff{}, changes: map[[2]string]int{}}
	for _, s := range []*results.Snapshot{a, b} {
		if s.Manifest == nil {
			d.Unsettled = append(d.Unsettled, s.Dir)
		}
	}
	if d.Unsettled == nil {
		d.Manifest = append(d.Manifest, differences(a.Manifest, b.Manifest)...)
		d.withoutSettings(a, b)
	}
	inA, inB := byID(&d.A), byID(&d.B)
	var left, right []results.Record
	for _, id := range slices.Sorted(maps.Keys(inA)) {
		ra := inA[id]
		rb, both := inB[id]
		switch {
		case !both:
			d.OnlyA++
			if o.Common {
				d.leaveOut(ra, results.Record{})
			}
			continue
		case o.Common && d.leaveOut(ra, rb):
			continue
		}
		quarantine(&ra, &rb)
		left, right = append(left, ra), append(right, rb)
		graded := ra.Resolved != nil && rb.Resolved != nil
		d.compare(InstanceDiff{
			ID: id, A: ending(ra, graded), B: ending(rb, graded), SameOutcome: sameOutcome(ra, rb, graded),
			Patch: comparePatches(a.Patches, b.Patches, id), RecordA: ra, RecordB: rb,
		}, o.All)
	}
	for id, r := range inB {
		if _, both := inA[id]; !both {
			d.OnlyB++
			if o.Common {
				d.leaveOut(results.Record{}, r)
			}
		}
	}
	d.TotalA, d.TotalB = totalOf(left), totalOf(right)
	return d
}

// differences leaves out meaningless differences: images of instances that only one side ran, and
// the model's name if it is repeated as a setting.
func differences(a, b *manifest.Manifest) []manifest.Difference {
	all := b.Differences(a)
	return slices.DeleteFunc(slices.Clone(all), func(d manifest.Difference) bool {
		if strings.HasPrefix(d.Name, "images.") {
			id := imageOf(d)
			_, inA := a.Images[id]
			_, inB := b.Images[id]
			return !inA || !inB
		}
		return d.Name == "model.model_name" && slices.ContainsFunc(all, func(other manifest.Difference) bool {
			return other.Name == "model" && other.Was == d.Was && other.Now == d.Now
		})
	})
}

// withoutSettings removes the settings if only one of the two directories is a run's.
func (d *Diff) withoutSettings(a, b *results.Snapshot) {
	inA, inB := a.Manifest.OnlyGraded(), b.Manifest.OnlyGraded()
	if inA == inB {
		return
	}
	d.OnlyGraded = a.Dir
	if inB {
		d.OnlyGraded = b.Dir
	}
	d.Manifest = slices.DeleteFunc(d.Manifest, func(one manifest.Difference) bool { return !one.Covers("dataset") })
}

// imageOf returns the instance in the name of an image's difference: "images.ID.digest".
func imageOf(d manifest.Difference) string {
	id := strings.TrimPrefix(d.Name, "images.")
	return id[:max(0, strings.LastIndex(id, "."))]
}

// byID moves the instances from a status to a map.
func byID(s *Status) map[string]results.Record {
	m := map[string]results.Record{}
	for _, in := range s.Instances {
		m[in.InstanceID] = in.Record
	}
	s.Instances, s.Records = nil, nil
	return m
}

// quarantine leaves an instance out of both rates if it is quarantined on one side.
func quarantine(a, b *results.Record) {
	if a.Quarantined || b.Quarantined {
		a.Quarantined, b.Quarantined = true, true
		a.Resolved, b.Resolved = nil, nil
	}
}

// leaveOut reports whether an instance has no result on at least one side, and counts it.
func (d *Diff) leaveOut(a, b results.Record) bool {
	switch inA, inB := a.Outcome.Final(), b.Outcome.Final(); {
	case inA && inB:
		return false
	case inA:
		d.LeftOut.B++
	case inB:
		d.LeftOut.A++
	default:
		d.LeftOut.Neither++
	}
	return true
}

func (d *Diff) compare(in InstanceDiff, all bool) {
	if in.SameOutcome {
		d.SameOutcome++
	} else {
		d.Different++
		d.changes[[2]string{in.A, in.B}]++
	}
	switch in.Patch {
	case "equal":
		d.Patches.Equal++
	case "different":
		d.Patches.Different++
	case "none":
		d.Patches.None++
	}
	if a, b := in.RecordA.Resolved, in.RecordB.Resolved; a != nil && b != nil {
		switch {
		case *a && *b:
			d.Resolved.Both++
		case *a:
			d.Resolved.OnlyA++
		case *b:
			d.Resolved.OnlyB++
		default:
			d.Resolved.Neither++
		}
	}
	if all || !in.SameOutcome {
		d.Instances = append(d.Instances, in)
	}
}

// comparePatches compares patches by digest; the digest of an empty patch is empty.
func comparePatches(a, b map[string]string, id string) string {
	inA, okA := a[id]
	inB, okB := b[id]
	switch {
	case !okA || !okB:
		return ""
	case inA != inB:
		return "different"
	case inA == "":
		return "none"
	default:
		return "equal"
	}
}

// sameOutcome compares verdicts only if both are graded. Another tool's exit status may be unknown,
// or have a different ending: ContextWindowExceededError.
func sameOutcome(a, b results.Record, graded bool) bool {
	name := func(r results.Record) string { return strings.TrimSuffix(displayStatus(r), "Error") }
	unknown := a.Status == vocab.StatusUnknown || b.Status == vocab.StatusUnknown
	return a.Outcome == b.Outcome && a.Salvaged == b.Salvaged && (unknown || name(a) == name(b)) &&
		(!graded || verdictOf(a) == verdictOf(b))
}

// ending says how an attempt ended. With graded it also has the verdict, or only the verdict if
// nothing else is known.
func ending(r results.Record, graded bool) string {
	if graded && r.Status == vocab.StatusUnknown {
		return verdictOf(r).String()
	}
	text := displayStatus(r)
	if r.Salvaged {
		text += ", salvaged"
	}
	if graded {
		text += ", " + verdictOf(r).String()
	}
	return text
}

func totalOf(records []results.Record) DiffTotal {
	t := DiffTotal{Instances: cover(records).final}
	if g := newGrading(records); g != nil {
		t.Graded, t.Resolved, t.Quarantined = g.Graded, g.Resolved, len(g.Quarantined)
	}
	var steps, cost, times []float64
	for _, r := range records {
		if !r.Outcome.Final() {
			continue
		}
		if r.PatchBytes > 0 {
			t.Patches++
		}
		t.Steps += r.Steps
		t.Cost += r.Cost
		t.Seconds += r.Time.Total
		if r.Measured() {
			steps, cost = append(steps, float64(r.Steps)), append(cost, r.Cost)
		}
		if r.Time.Total > 0 {
			times = append(times, r.Time.Total)
		}
	}
	t.StepsMedian, t.CostMedian, t.SecondsMedian = median(steps), median(cost), median(times)
	t.Measured, t.Timed = len(steps), len(times)
	return t
}

// median returns nil for no values.
func median(values []float64) *float64 {
	n := len(values)
	if n == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(values))
	m := (sorted[(n-1)/2] + sorted[n/2]) / 2
	return &m
}
