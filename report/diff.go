package report

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"

	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
)

// Diff says where two run directories differ: the content of
// `batch diff --json`. A is the one that B is compared with.
type Diff struct {
	A         Status                `json:"a"` // without its instances and records
	B         Status                `json:"b"`
	Manifest  []manifest.Difference `json:"manifest"` // Now is B's, Was is A's
	Alike     int                   `json:"alike"`    // instances that ended alike in both
	Instances []InstanceDiff        `json:"instances"`
}

// InstanceDiff is an instance that ended otherwise in B than in A. Where one
// of them does not know it, that one's ending is empty.
type InstanceDiff struct {
	ID string `json:"instance_id"`
	A  string `json:"a"`
	B  string `json:"b"`
}

// NewDiff compares two directories. Only one of them having a manifest, or
// neither, leaves the comparison of the manifests out.
func NewDiff(a, b *results.Snapshot) Diff {
	d := Diff{A: NewStatus(a), B: NewStatus(b)}
	if a.Manifest != nil && b.Manifest != nil {
		d.Manifest = b.Manifest.Differences(a.Manifest)
	}
	ends := map[string]*InstanceDiff{}
	note := func(s *Status, set func(d *InstanceDiff, ending string)) {
		for _, in := range s.Instances {
			if ends[in.InstanceID] == nil {
				ends[in.InstanceID] = &InstanceDiff{ID: in.InstanceID}
			}
			set(ends[in.InstanceID], ending(in.Record))
		}
		s.Instances, s.Records = nil, nil
	}
	note(&d.A, func(d *InstanceDiff, ending string) { d.A = ending })
	note(&d.B, func(d *InstanceDiff, ending string) { d.B = ending })
	for _, id := range slices.Sorted(maps.Keys(ends)) {
		if e := ends[id]; e.A == e.B {
			d.Alike++
		} else {
			d.Instances = append(d.Instances, *e)
		}
	}
	return d
}

// ending names how an attempt ended, and its verdict.
func ending(r results.Record) string {
	text := OutcomeStatus{Outcome: r.Outcome, Detail: detailOf(r)}.label()
	if r.Salvaged {
		text += ", salvaged"
	}
	switch {
	case r.Resolved == nil:
		return text
	case *r.Resolved:
		return text + ", resolved"
	default:
		return text + ", not resolved"
	}
}

// Write writes the differences as text: what was asked, then the instances
// that ended otherwise.
func (d Diff) Write(w io.Writer) error {
	return buffered(w, func(b *bufio.Writer) {
		writeSide(b, "A", d.A)
		writeSide(b, "B", d.B)
		d.writeManifest(b, "\nmakes results incomparable (B, was A):", true)
		d.writeManifest(b, "\ndiffers besides (B, was A):", false)
		if len(d.Instances) > 0 {
			t := &table{left: map[int]bool{1: true, 2: true}}
			t.add("instance", "A", "B")
			for _, in := range d.Instances {
				t.add(oneLine(in.ID, 60), orDash(oneLine(in.A, 0)), orDash(oneLine(in.B, 0)))
			}
			fmt.Fprintln(b)
			t.write(b)
		}
		fmt.Fprintf(b, "\nalike %d, different %d\n", d.Alike, len(d.Instances))
	})
}

func writeSide(b *bufio.Writer, name string, s Status) {
	fmt.Fprintf(b, "%s  %s: %s, model %s, with a result %d/%d, cost %s\n",
		name, oneLine(s.Dir, 0), oneLine(s.Dataset, 0), oneLine(s.Model, 0), s.Results, s.Asked, dollars(s.Spent))
}

func (d Diff) writeManifest(b *bufio.Writer, head string, matters bool) {
	for _, one := range d.Manifest {
		if one.Matters == matters {
			if head != "" {
				fmt.Fprintln(b, head)
			}
			head = ""
			fmt.Fprintf(b, "  %s\n", oneLine(one.String(), width-2))
		}
	}
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
