package report

import (
	"fmt"
	"slices"

	"batch.example/batch/audit"
	"batch.example/batch/internal/printable"
)

// Audit has the findings in the entries.
type Audit struct {
	Attempts int // that were audited
	Findings []Finding
	Notes    []string // why something was not checked
}

// Finding is one finding.
type Finding struct {
	audit.Finding
	Entry, Run int // indexes in Data.Entries, and in the entry's runs
}

// mostFindings is how many findings a page lists.
const mostFindings = 1000

func (s study) audit(a *Audit) *section {
	part := &section{ID: "audit", Name: "Audit"}
	if a == nil {
		part.Lead = []string{"The attempts were not audited."}
		return part
	}
	for _, note := range a.Notes {
		part.Notes = append(part.Notes, s.text(note, longText))
	}
	found := "No sign found"
	if n := len(a.Findings); n > 0 {
		found = printable.Count(n, "finding", "findings")
	}
	part.Lead = []string{fmt.Sprintf("%s in %s, by version %d of the detectors.", found, printable.Count(a.Attempts, "audited attempt", "audited attempts"), audit.Version)}
	if len(a.Findings) == 0 {
		return part
	}
	part.Lead = append(part.Lead, "A finding is a place to read: it proves nothing by itself, and changes no rate.")
	part.Table = &table{Label: "Findings by detector", Heads: append(s.heads("Detector"), cell{Text: "What a finding does not prove"})}
	list := &table{Label: "Findings", Heads: []cell{{Text: "Instance"}, {Text: "Run"}, {Text: "Detector"}, {Text: "Step"}, {Text: "Evidence"}}}
	for _, d := range audit.Detectors() {
		counts := make([]int, len(s.entries))
		for _, f := range a.Findings {
			if f.Detector == d.Name {
				counts[f.Entry]++
				list.add(s.finding(f)...)
			}
		}
		if slices.Max(counts) > 0 {
			part.Table.add(slices.Concat([]cell{{Text: d.Name}}, integers(counts), []cell{{Class: "why", Text: d.Not}})...)
		}
	}
	summary := fmt.Sprintf("%d findings with their evidence", len(list.Rows))
	if more := len(list.Rows) - mostFindings; more > 0 {
		summary = fmt.Sprintf("%d findings with their evidence, and %d more that batch audit lists", mostFindings, more)
		list.Rows = list.Rows[:mostFindings]
	}
	part.Folds = []fold{{Summary: cell{Text: summary}, Table: list}}
	return part
}

func (s study) finding(f Finding) []cell {
	step := "patch"
	if f.Step > 0 {
		step = fmt.Sprint(f.Step)
	}
	return append(s.attempt(s.entries[f.Entry], f.Run, f.Instance), cell{Text: f.Detector}, cell{Text: step}, cell{Class: "why", Name: s.text(f.Evidence, longText)})
}
