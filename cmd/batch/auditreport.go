package main

import (
	"context"

	"batch.example/batch/audit"
	"batch.example/batch/report/page"
	"batch.example/batch/results/scores"
	"batch.example/batch/results/trajectory"
)

// auditEntries audits the last attempts of the entries of a report.
func (a *app) auditEntries(ctx context.Context, entries []scores.Side) (*page.Audit, error) {
	out := &page.Audit{Version: audit.Version}
	for _, d := range audit.Detectors() {
		out.Detectors = append(out.Detectors, page.AuditDetector{Name: d.Name, Not: d.Not})
	}
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
					out.Findings = append(out.Findings, page.AuditFinding{
						Entry: i, Run: n, Detector: f.Detector, Instance: f.Instance, Step: f.Step, Evidence: f.Evidence,
					})
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
