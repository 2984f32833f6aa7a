package view_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"batch.example/batch/journal"
	"batch.example/batch/report"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/scores"
	pages "batch.example/batch/view/report"
	"batch.example/batch/vocab"
)

// paid has the amounts of a folder, counted by hand from what its calls cost.
type paid struct {
	counts float64 // answered calls of the attempts that count
	ever   float64 // answered calls of all attempts
	most   float64 // ever, and what calls without an answer may have cost
}

// Each screen names the same amounts of a folder: the status as text and as JSON, the summary of a run, the
// list of runs as page and as JSON, the page of each attempt, and the report.
func TestAllScreensHaveTheSameBill(t *testing.T) {
	dir := t.TempDir()
	one, other := instances[0], instances[1]
	type attempt struct {
		id     string
		calls  int // answered ones, of one cent each
		lost   int // of two cents each
		status vocab.Status
	}
	const done, failed, killed = vocab.StatusSubmitted, vocab.StatusTransientFault, vocab.StatusRunning
	folders := map[string]struct {
		attempts []attempt
		foreign  bool // another tool has paid $2 for the second instance
		want     paid
	}{
		"plain":           {attempts: []attempt{{one, 3, 0, done}, {other, 4, 0, done}}, want: paid{0.07, 0.07, 0.07}},
		"tried again":     {attempts: []attempt{{one, 2, 0, failed}, {one, 3, 0, done}}, want: paid{0.03, 0.05, 0.05}},
		"failed":          {attempts: []attempt{{one, 2, 0, failed}}, want: paid{0.02, 0.02, 0.02}},
		"lost":            {attempts: []attempt{{one, 4, 2, done}}, want: paid{0.04, 0.04, 0.08}},
		"lost before":     {attempts: []attempt{{one, 1, 1, failed}, {one, 3, 0, done}}, want: paid{0.03, 0.04, 0.06}},
		"lost in each":    {attempts: []attempt{{one, 1, 1, failed}, {one, 3, 2, done}}, want: paid{0.03, 0.04, 0.10}},
		"without calls":   {attempts: []attempt{{one, 0, 0, failed}}},
		"killed":          {attempts: []attempt{{one, 3, 0, killed}}, want: paid{0.03, 0.03, 0.03}},
		"killed in calls": {attempts: []attempt{{one, 3, 1, done}, {other, 3, 2, killed}}, want: paid{0.06, 0.06, 0.12}},
		"theirs":          {foreign: true, want: paid{2, 2, 2}},
		"continued":       {foreign: true, attempts: []attempt{{one, 3, 1, done}}, want: paid{2.03, 2.03, 2.05}},
	}
	for name, f := range folders {
		path := filepath.Join(dir, name)
		if f.foreign {
			foreign(t, path, other)
		}
		s, err := results.Open(path, results.Options{Owner: "host h, pid 1", FlushEvery: time.Millisecond, Durability: journal.Process})
		must(t, err)
		must(t, s.WriteManifest(&manifest.Manifest{
			Batch: "v1.4.0", Model: usual("model"), Created: time.Now().UTC(), Config: map[string]any{},
			Dataset: manifest.Dataset{Name: "d", Split: "test", Instances: instances[:2]}, Runs: []manifest.Run{{Started: time.Now().UTC()}},
		}))
		for _, at := range f.attempts {
			a, err := s.Begin(at.id, manifest.Settings{})
			must(t, err)
			w := &recorder{t: t, a: a, text: usual}
			w.begin()
			w.work(at.calls)
			if at.lost > 0 {
				w.add(journal.TypeRequest, journal.RequestData{Step: w.step + 1, Digest: "d", Tokens: 1000})
				w.add(journal.TypeLost, journal.LostData{Step: w.step + 1, Calls: at.lost, Cost: 0.02 * float64(at.lost)})
			}
			if at.status != killed {
				r := results.Record{InstanceID: at.id, Status: at.status, Outcome: vocab.OutcomeInfrastructure, Model: usual("model"), Steps: w.step, Cost: 0.01 * float64(w.step)}
				if at.status == done {
					r.Outcome = vocab.OutcomeSubmitted
				}
				_, err = s.Put(t.Context(), &results.Result{Record: r})
				must(t, err)
			}
			must(t, a.Close())
		}
		must(t, s.Close())
	}
	site := serve(t, dir, usual, nil)
	_, _, list := site.get(t, "/")
	_, _, twin := site.get(t, twinOf("/"))
	var overview struct {
		Runs []struct {
			Run         string
			Cost, Spent float64
		}
	}
	must(t, json.Unmarshal([]byte(twin), &overview))
	if len(overview.Runs) != len(folders) {
		t.Errorf("%d runs of %d folders", len(overview.Runs), len(folders))
	}
	for _, r := range overview.Runs {
		w := folders[filepath.Base(r.Run)].want
		if !near(r.Cost, w.counts) || !near(r.Spent, w.most) {
			t.Errorf("the list as JSON, %s: cost %v, spent %v, want %+v", r.Run, r.Cost, r.Spent, w)
		}
	}
	for run, told := range map[string]bool{"theirs": true, "plain": false} {
		_, _, page := site.get(t, "/run/"+url.PathEscape(filepath.Join(dir, run))+"/"+other)
		if strings.Contains(page, "made by another tool") != told {
			t.Errorf("the page of an attempt, %s: want that another tool made it: %v", run, told)
		}
	}
	for name, f := range folders {
		snap, err := results.Read(filepath.Join(dir, name))
		must(t, err)
		status := report.NewStatus(snap)
		if !near(status.Cost, f.want.counts) || !near(status.Spent, f.want.most) || !near(status.Held, f.want.most-f.want.ever) {
			t.Errorf("the status as JSON, %s: cost %v, spent %v, held %v, want %+v", name, status.Cost, status.Spent, status.Held, f.want)
		}
		var text, end bytes.Buffer
		must(t, status.Write(&text, true))
		must(t, report.Summary(&end, report.SummaryData{Asked: instances[:2], Records: snap.Records, Spent: snap.Spent}))
		sides, err := scores.Read(filepath.Join(dir, name))
		must(t, err)
		for screen, got := range map[string]string{
			"the status": costLine(text.String()), "the summary": costLine(end.String()), "the list": rowOf(list, name),
			"the report": rowOf(section(written(t, pages.Data{Entries: sides}), "rates"), name),
		} {
			for _, amount := range []float64{f.want.counts, f.want.ever, f.want.most} {
				if !strings.Contains(got, report.Dollars(amount)) {
					t.Errorf("%s, %s: no %s in %q", screen, name, report.Dollars(amount), got)
				}
			}
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// foreign writes the results of another tool, which cost $2.
func foreign(t testing.TB, dir, id string) {
	t.Helper()
	traj := `{"info": {"model_stats": {"instance_cost": 2.0, "api_calls": 5}, "exit_status": "Submitted", "submission": "x"}, "messages": [{"role": "user", "content": "x"}], "trajectory_format": "mini-swe-agent-1.1"}`
	must(t, os.MkdirAll(filepath.Join(dir, id), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, id, id+".traj.json"), []byte(traj), 0o644))
	preds := fmt.Sprintf(`{%q: {"model_name_or_path": "m", "instance_id": %q, "model_patch": "x"}}`, id, id)
	must(t, os.WriteFile(filepath.Join(dir, "preds.json"), []byte(preds), 0o644))
}

// costLine returns the line of a text that begins with "cost", with its further lines.
func costLine(text string) string {
	_, rest, _ := strings.Cut(text, "\ncost ")
	line, _, _ := strings.Cut(strings.ReplaceAll(rest, "\n  ", " "), "\n")
	return line
}

var tags = regexp.MustCompile(`<[^>]*>`)

// rowOf returns the text of the table's row that names a run.
func rowOf(page, name string) string {
	for row := range strings.SplitSeq(page, "<tr") {
		if text := tags.ReplaceAllString(row, " "); strings.Contains(text, name+" ") || strings.Contains(text, name+"<") {
			return text
		}
	}
	return ""
}

func section(page, id string) string {
	_, text, _ := strings.Cut(page, `<section id="`+id+`"`)
	text, _, _ = strings.Cut(text, "</section>")
	return text
}
