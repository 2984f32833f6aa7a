package page_test

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"batch.example/batch/report/compare"
	"batch.example/batch/report/page"
	"batch.example/batch/results/scores"
)

func written(t testing.TB, d page.Data) string {
	t.Helper()
	var b bytes.Buffer
	if err := page.Write(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.String()
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
		written(t, page.Data{}):              true,
		"<!DOCTYPE html>\n<html></html>":     false,
		`<!DOCTYPE html>` + strings.Repeat(" ", 1024) + `<meta name="generator" content="batch report">`: false,
		"": false,
	} {
		if got := page.Is([]byte(text)); got != want {
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
	none.Folder = nil
	for name, c := range map[string]struct {
		data      page.Data
		want, not string
	}{
		"nothing":                               {page.Data{}, "No runs", "NaN"},
		"one instance":                          {invented(1, 1, 1), "1 instance", "NaN"},
		"an entry without instances":            {one, "nothing can be compared", "NaN"},
		"all left out":                          {all, "nothing can be compared", "NaN"},
		"one run":                               {invented(50, 1, 1), "of 50 instances resolved, 95 %", "Where they differ"},
		"without links":                         {none, "80 left out", "<a href=\".."},
		"an entry without attempts":             {page.Data{Entries: []scores.Side{{Name: "x"}}}, "No prediction has a verdict", "NaN"},
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
	d := page.Data{Entries: []scores.Side{{Name: "a", Runs: []scores.Run{one, one}}}}
	if err := page.Write(io.Discard, d); err != nil {
		t.Error(err)
	}
}

func TestACostWithUnansweredCallsIsARange(t *testing.T) {
	cost, yes := 6.0, true
	one := scores.Run{Scores: map[string]scores.Score{"a__1": {Resolved: &yes, Cost: &cost, Held: 4}}}
	d := page.Data{Entries: []scores.Side{{Name: "a", Runs: []scores.Run{one}}}}
	if text := written(t, d); !strings.Contains(text, "$6.00; up to $10.00 with calls of unknown cost") {
		t.Error("the page does not say that it has cost $6.00, and up to $10.00")
	}
}
