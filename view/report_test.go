package view_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"batch.example/batch/audit"
	"batch.example/batch/internal/chromium/browsertest"
	"batch.example/batch/report/compare"
	"batch.example/batch/results/scores"
	"batch.example/batch/view"
	"batch.example/batch/view/report"
)

func written(t testing.TB, d report.Data) string {
	t.Helper()
	text, err := view.Report(report.New(d))
	must(t, err)
	return string(text)
}

func TestTheSizeOfAPage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ instances, models, attempts, most int }{
		{500, 4, 1, 2_000_000},
		{500, 2, 2, 2_000_000},
		{1, 1, 1, 60_000},
	} {
		if n := len(written(t, invented(c.instances, c.models, c.attempts))); n > c.most {
			t.Errorf("%d x %d x %d: %d bytes, want at most %d", c.instances, c.models, c.attempts, n, c.most)
		}
	}
}

// The page has the figures of `batch compare`.
func TestAPageHasTheFiguresOfCompare(t *testing.T) {
	t.Parallel()
	for _, models := range []int{2, 3} {
		d := invented(60, models, 2)
		text := written(t, d)
		for _, p := range compare.New(d.Entries, compare.Options{AllPairs: true}).Pairs {
			want := []float64{p.P}
			if p.Holm != nil {
				want = append(want, *p.Holm)
			}
			for _, v := range want {
				format := `<td class="n">%.2f</td>`
				if v < 0.1 {
					format = `<td class="n">%.3f</td>`
				}
				if cell := fmt.Sprintf(format, v); v > 0.001 && !strings.Contains(text, cell) {
					t.Errorf("%d models: %s and %s: %s is not in the page", models, p.A, p.B, cell)
				}
			}
		}
		if strings.Contains(text, "McNemar") || strings.Contains(text, "Wilson") {
			t.Error("the page names tests that are not used")
		}
	}
}

func TestTheSamePageTwice(t *testing.T) {
	t.Parallel()
	first, second := written(t, invented(60, 3, 2)), written(t, invented(60, 3, 2))
	if first != second {
		t.Error("the same data gave two pages")
	}
}

func TestAPageIsKnownByItsHead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		written(t, invented(1, 1, 1))[:1024]: true,
		written(t, report.Data{}):            true,
		"<!DOCTYPE html>\n<html></html>":     false,
		`<!DOCTYPE html>` + strings.Repeat(" ", 1024) + `<meta name="generator" content="batch report">`: false,
		"": false,
	} {
		if got := view.IsReport([]byte(text)); got != want {
			t.Errorf("%.60q: %v, want %v", text, got, want)
		}
	}
}

func TestPagesOfLittle(t *testing.T) {
	t.Parallel()
	one := invented(1, 2, 1)
	one.Entries[1].Runs[0].Scores = map[string]scores.Score{}
	one.Entries[1].Runs[0].Snapshot = nil
	all := invented(20, 2, 2)
	for _, e := range all.Entries {
		for _, a := range e.Runs {
			for id := range a.Scores {
				a.Scores[id] = scores.Score{ID: id, Left: scores.Infrastructure}
			}
		}
	}
	empty := invented(5, 1, 1)
	empty.Entries = append(empty.Entries, scores.Side{Name: "empty"})
	none := all
	none.Link = nil
	for name, c := range map[string]struct {
		data      report.Data
		want, not string
	}{
		"nothing":                               {report.Data{}, "No runs", "NaN"},
		"one instance":                          {invented(1, 1, 1), "1 instance", "NaN"},
		"an entry without instances":            {one, "nothing can be compared", "NaN"},
		"all left out":                          {all, "nothing can be compared", "NaN"},
		"one run":                               {invented(50, 1, 1), "of 50 instances resolved, 95 %", "Where they differ"},
		"without links":                         {none, "80 left out", "<a href=\".."},
		"an entry without attempts":             {report.Data{Entries: []scores.Side{{Name: "x"}}}, "No prediction has a verdict", "NaN"},
		"an entry without attempts and another": {empty, "nothing can be compared", "NaN"},
		"three runs: the set at the top":        {invented(200, 3, 1), "has the highest rate", "NaN"},
		"more entries than there are signs":     {invented(4, 28, 1), "AB", "NaN"},
	} {
		text, _, _ := strings.Cut(written(t, c.data), "<script>")
		_, text, _ = strings.Cut(text, "</style>")
		if !strings.Contains(text, c.want) || strings.Contains(text, c.not) {
			t.Errorf("%s: want %q and no %q in\n%.3000s", name, c.want, c.not, text)
		}
	}
}

func TestSumsThatAreTooLarge(t *testing.T) {
	cost, yes := math.MaxFloat64, true
	one := scores.Run{Scores: map[string]scores.Score{"a__1": {Resolved: &yes, Cost: &cost}}}
	d := report.Data{Entries: []scores.Side{{Name: "a", Runs: []scores.Run{one, one}}}}
	written(t, d)
}

func TestACostWithUnansweredCallsIsARange(t *testing.T) {
	cost, yes := 6.0, true
	one := scores.Run{Scores: map[string]scores.Score{"a__1": {Resolved: &yes, Cost: &cost, Held: 4}}}
	d := report.Data{Entries: []scores.Side{{Name: "a", Runs: []scores.Run{one}}}}
	if text := written(t, d); !strings.Contains(text, "$6.00; up to $10.00 with calls of unknown cost") {
		t.Error("the page does not say that it has cost $6.00, and up to $10.00")
	}
}

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
	d.Audit = &report.Audit{Attempts: 12, Notes: []string{"b: no dataset"}}
	if text := section(); !strings.Contains(text, "No sign found in 12 audited attempts, by version 2 of the detectors.") || !strings.Contains(text, ">b: no dataset</p>") || strings.Contains(text, "<table") {
		t.Errorf("without findings:\n%s", text)
	}
	for _, attack := range browsertest.Attacks {
		d.Audit.Findings = append(d.Audit.Findings, report.Finding{Entry: 1, Finding: audit.Finding{Detector: "network", Instance: id, Step: 3, Evidence: attack}})
	}
	d.Audit.Findings = append(d.Audit.Findings, report.Finding{Finding: audit.Finding{Detector: "network", Instance: "unknown", Evidence: "secret <b>"}})
	d.Hide = func(text string) string { return strings.ReplaceAll(text, "secret", "hidden") }
	text := section()
	for _, want := range []string{"13 findings in 12 audited attempts, by version 2 of the detectors.", `<td class="n">1</td><td class="n">12</td>`, "<th scope=\"row\">network</th>", "<td>patch</td>", "<bdi>hidden &lt;b&gt;</bdi>", id + ".traj.json"} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
	for _, not := range []string{"conftest", "<script", "<img", "<b>", "\u202e"} {
		if strings.Contains(text, not) {
			t.Errorf("%q is in\n%s", not, text)
		}
	}
	if !strings.Contains(written(t, d), `<a href="#audit">Audit</a>`) {
		t.Error("the section is not in the table of contents")
	}
}
