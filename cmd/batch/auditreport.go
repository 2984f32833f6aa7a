package main

import (
	"context"

	"batch.example/batch/results/scores"
	"batch.example/batch/results/trajectory"
	"batch.example/batch/view/report"
)

// auditEntries audits the last attempts of the entries of a report.
func (a *app) auditEntries(ctx context.Context, entries []scores.Side) (*report.Audit, error) {
	out := &report.Audit{}
	by := auditor{app: a}
	for i, e := range entries {
		for n, r := range e.Runs {
			if r.Snapshot == nil {
				out.Notes = append(out.Notes, r.Path+": not audited, because it is not a run directory")
				continue
			}
			p := &auditPlace{name: r.Path, dir: r.Path, ids: trajectory.Instances(r.Path)}
			p.of(r.Snapshot)
			by.kept = a.openKept(r.Path)
			notes, err := by.place(ctx, p, func(string) bool { return true }, func(one audited) {
				out.Attempts++
				for _, f := range one.Found {
					out.Findings = append(out.Findings, report.Finding{Finding: f, Entry: i, Run: n})
				}
			})
			if err != nil {
				return nil, err
			}
			by.kept.save()
			out.Notes = append(out.Notes, notes...)
		}
	}
	if more := len(out.Notes) - mostNotes; more > 0 {
		out.Notes = append(out.Notes[:mostNotes], "and more like these: batch audit lists them")
	}
	return out, nil
}
