package page

import (
	"fmt"
	"slices"

	"batch.example/batch/internal/printable"
)

// Audit has the findings in the entries. Its texts are in clear text; secrets must be
// hidden in them.
type Audit struct {
	Detectors         []AuditDetector // in the order of the page
	Version, Attempts int             // of the detectors, and how many attempts were audited
	Findings          []AuditFinding
	Notes             []string // why something was not checked
}

// AuditDetector is a detector's name, and what its findings do not prove.
type AuditDetector struct{ Name, Not string }

// AuditFinding is one finding.
type AuditFinding struct {
	Entry, Run int // indexes in Data.Entries, and in the entry's runs
	Detector   string
	Instance   string
	Step       int // 0: it is about the patch
	Evidence   string
}

// auditView is the section about findings.
type auditView struct {
	Summary string
	Entries []side
	Rows    []auditRow
	List    []auditLine
	More    int // findings that are not listed
	Notes   []string
}

type auditRow struct {
	Name, Not string
	Counts    []int // by entry
}

// auditLine is a finding in the list.
type auditLine struct {
	notedRow
	Step string
}

// mostFindings is how many findings a page lists.
const mostFindings = 1000

func (s study) audit(a *Audit) auditView {
	if a == nil {
		return auditView{Summary: "The attempts were not audited."}
	}
	found := "No sign found"
	if n := len(a.Findings); n > 0 {
		found = printable.Count(n, "finding", "findings")
	}
	v := auditView{Entries: s.entries, Summary: fmt.Sprintf("%s in %s, by version %d of the detectors.", found, printable.Count(a.Attempts, "audited attempt", "audited attempts"), a.Version)}
	for _, note := range a.Notes {
		v.Notes = append(v.Notes, cut(s.hide(note), 300))
	}
	for _, d := range a.Detectors {
		row := auditRow{Name: d.Name, Not: d.Not, Counts: make([]int, len(s.entries))}
		for _, f := range a.Findings {
			if f.Detector == d.Name {
				row.Counts[f.Entry]++
				v.List = append(v.List, s.auditLine(f))
			}
		}
		if slices.Max(append(row.Counts, 0)) > 0 {
			v.Rows = append(v.Rows, row)
		}
	}
	if v.More = len(v.List) - mostFindings; v.More > 0 {
		v.List = v.List[:mostFindings]
	}
	return v
}

func (s study) auditLine(f AuditFinding) auditLine {
	e := s.entries[f.Entry]
	line := auditLine{Step: "patch", notedRow: notedRow{
		key: e.key, ID: plain(f.Instance), Link: s.link(e, f.Run, f.Instance), Reason: f.Detector, Why: cut(s.hide(f.Evidence), 240),
	}}
	if f.Step > 0 {
		line.Step = fmt.Sprint(f.Step)
	}
	if len(e.Runs) > 1 {
		line.Attempt = f.Run + 1
	}
	return line
}
