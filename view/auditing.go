package view

import (
	"net/http"

	"batch.example/batch/audit"
	"batch.example/batch/results/trajectory"
)

// auditPage is the data of a page with the findings of package audit in an attempt.
type auditPage struct {
	Run       string             `json:"run"`
	Instance  string             `json:"instance_id"`
	Attempt   int                `json:"attempt"`
	Findings  []audit.Finding    `json:"findings"`
	Not       []audit.NotChecked `json:"not_checked,omitempty"`
	Why       string             `json:"no_row,omitempty"` // why there is no row to compare with
	Detectors []detectorView     `json:"-"`
	tabs
}

// detectorView is a detector with its findings.
type detectorView struct {
	audit.Detector
	Findings []findingView
}

type findingView struct {
	audit.Finding
	Link string // empty: it is about the patch
}

// audit answers with the detectors' findings in an attempt. It reads the whole trajectory.
func (s *Server) audit(w http.ResponseWriter, r *http.Request) {
	o, err := s.open(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	whole, err := trajectory.Source{Dir: o.run.Dir, Instance: o.id, Attempt: o.number}.Read(o.mask)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	whole.Instance = o.id
	d := auditPage{Run: o.run.Name, Instance: o.id, Attempt: o.view.Attempt, tabs: o.tabs("audit")}
	row, why := s.row(r.Context(), o)
	d.Why = why
	d.Findings, d.Not = audit.Attempt(whole, row, o.mask)
	for _, detector := range audit.Detectors() {
		v := detectorView{Detector: detector}
		for _, f := range d.Findings {
			if f.Detector != detector.Name {
				continue
			}
			one := findingView{Finding: f}
			if f.Step > 0 {
				one.Link = o.link(f.Step)
			}
			v.Findings = append(v.Findings, one)
		}
		if v.Findings != nil {
			d.Detectors = append(d.Detectors, v)
		}
	}
	s.show(w, r, "audit", o.id+": audit", d)
}
