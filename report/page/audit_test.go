package page_test

import (
	"strings"
	"testing"

	"batch.example/batch/internal/chromium/browsertest"
	"batch.example/batch/report/page"
)

func TestThePageHasTheFindingsOfAnAudit(t *testing.T) {
	t.Parallel()
	d := invented(6, 2, 1)
	id := ""
	for name := range d.Entries[1].Runs[0].Scores {
		id = max(id, name)
	}
	section := func() string {
		_, text, _ := strings.Cut(written(t, d), `<section id="audit"`)
		text, _, _ = strings.Cut(text, "</section>")
		return text
	}
	if text := section(); !strings.Contains(text, "The attempts were not audited.") || strings.Contains(text, "<table") {
		t.Errorf("without an audit:\n%s", text)
	}
	d.Audit = &page.Audit{Version: 7, Detectors: []page.AuditDetector{{"network", "It does not prove that."}, {"helper", "It does not prove this."}}, Attempts: 12, Notes: []string{"b: no dataset"}}
	if text := section(); !strings.Contains(text, "No sign found in 12 audited attempts, by version 7 of the detectors.") || !strings.Contains(text, "<li>b: no dataset</li>") || strings.Contains(text, "<table") {
		t.Errorf("without findings:\n%s", text)
	}
	for _, attack := range browsertest.Attacks {
		d.Audit.Findings = append(d.Audit.Findings, page.AuditFinding{Entry: 1, Detector: "network", Instance: id, Step: 3, Evidence: attack})
	}
	d.Audit.Findings = append(d.Audit.Findings, page.AuditFinding{Detector: "network", Instance: "unknown", Evidence: "secret <b>"})
	d.Hide = func(text string) string { return strings.ReplaceAll(text, "secret", "hidden") }
	text := section()
	for _, want := range []string{"13 findings in 12 audited attempts, by version 7 of the detectors.", `<td class="n">1</td><td class="n">12</td>`, "It does not prove that.", "<td>patch</td>", "<bdi>hidden &lt;b&gt;</bdi>", id + ".traj.json"} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
	for _, not := range []string{"helper", "<script", "<img", "<b>", "\u202e"} {
		if strings.Contains(text, not) {
			t.Errorf("%q is in\n%s", not, text)
		}
	}
	if !strings.Contains(written(t, d), `<a href="#audit">Audit</a>`) {
		t.Error("the section is not in the table of contents")
	}
}
