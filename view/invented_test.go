package view_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/scores"
	"batch.example/batch/view/report"
	"batch.example/batch/vocab"
)

// repositories are a benchmark's repositories, with their shares of 500 instances.
var repositories = []struct {
	name  string
	share int
}{
	{"django/django", 231},
	{"sympy/sympy", 75},
	{"sphinx-doc/sphinx", 44},
	{"matplotlib/matplotlib", 34},
	{"scikit-learn/scikit-learn", 32},
	{"astropy/astropy", 22},
	{"pydata/xarray", 22},
	{"pytest-dev/pytest", 19},
	{"pylint-dev/pylint", 10},
	{"psf/requests", 8},
	{"mwaskom/seaborn", 2},
	{"pallets/flask", 1},
}

// invented makes a comparison of models over n instances, with several attempts each. The same
// numbers give the same comparison.
func invented(n, models, attempts int) report.Data {
	names := []string{"openai/gpt-5.1", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-pro", "hosted_vllm/qwen3-coder-30b", "openai/gpt-5-mini"}
	source := rand.New(rand.NewPCG(1, 2))
	rows := inventedRows(source, n)
	var d report.Data
	for m := range models {
		e := scores.Side{Name: names[m%len(names)], Model: names[m%len(names)]}
		if m >= len(names) {
			e.Name += fmt.Sprintf(" %d", m)
		}
		for a := range attempts {
			snap := inventedRun(source, rows, m)
			snap.Dir = fmt.Sprintf("runs/verified/%d-%d", m, a)
			e.Runs = append(e.Runs, scores.FromSnapshot(snap))
		}
		d.Entries = append(d.Entries, e)
	}
	d.Link = func(dir, id string) string { return "../" + results.TrajectoryPath(dir, id) }
	return d
}

type inventedRow struct {
	id, repo string
	hard     float64
}

func inventedRows(source *rand.Rand, n int) []inventedRow {
	var rows []inventedRow
	for i := range n {
		at := i * 500 / n
		repo := repositories[len(repositories)-1].name
		for _, r := range repositories {
			if at -= r.share; at < 0 {
				repo = r.name
				break
			}
		}
		rows = append(rows, inventedRow{fmt.Sprintf("%s-%d", strings.ReplaceAll(repo, "/", "__"), 10000+i*17), repo, source.NormFloat64()})
	}
	return rows
}

func inventedRun(source *rand.Rand, rows []inventedRow, model int) *results.Snapshot {
	start := time.Date(2026, 11, 20+model, 8, 0, 0, 0, time.UTC)
	end := start.Add(5 * time.Hour)
	snap := &results.Snapshot{Manifest: &manifest.Manifest{
		Batch: "v1.4.0", Model: "m", Created: start, Runs: []manifest.Run{{Started: start, Ended: &end}},
		Dataset: manifest.Dataset{Name: "princeton-nlp/SWE-bench_Verified", Split: "test", Digest: "sha256:1"},
		Config:  map[string]any{"agent": map[string]any{"step_limit": 250 - 50*model}},
	}}
	strength := []float64{0.5, 0.35, 0.25, -0.6, -0.2}[model%5]
	for _, row := range rows {
		snap.Manifest.Dataset.Instances = append(snap.Manifest.Dataset.Instances, row.id)
		snap.Records = append(snap.Records, inventedRecord(source, row, model, strength))
	}
	return snap
}

func inventedRecord(source *rand.Rand, row inventedRow, model int, strength float64) results.Record {
	steps := int(8 + 60*math.Abs(source.NormFloat64()+0.4*row.hard))
	r := results.Record{
		InstanceID: row.id, Repo: row.repo, Attempt: 1, Status: vocab.StatusSubmitted, Outcome: vocab.OutcomeSubmitted, Steps: steps,
		Cost: float64(steps) * (0.002 + 0.006*float64(4-model)) * (0.8 + 0.4*source.Float64()), PatchBytes: 900,
	}
	model1, commands := float64(steps)*(3+2*source.Float64()), float64(steps)*1.2
	r.Time = results.Phases{Pull: 4, Start: 1.2, Prepare: 2, Model: model1, RateWait: model1 * 0.1 * float64(model), Commands: commands, Agent: 0.5, Save: 0.7, Finish: 1}
	p := r.Time
	r.Time.Total = p.Pull + p.Start + p.Prepare + p.Model + p.Commands + p.Agent + p.Save + p.Finish
	switch luck := source.Float64(); {
	case luck < 0.01:
		r.Status, r.Outcome, r.Blame, r.Error = vocab.StatusTransientFault, vocab.OutcomeInfrastructure, "transient", "pulling the image: registry.example answered 503 three times"
	case luck < 0.06:
		r.Status, r.Outcome = vocab.StatusLimitsExceeded, vocab.OutcomeLimit
	}
	if r.Outcome.Final() {
		resolved := strength+source.NormFloat64()*0.7 > row.hard && r.Outcome == vocab.OutcomeSubmitted
		verdict := vocab.VerdictUnresolved
		if resolved {
			verdict = vocab.VerdictResolved
		}
		r.Resolved, r.Grade = &resolved, &grades.Grade{InstanceID: row.id, Verdict: verdict, Why: "2 of 3 FAIL_TO_PASS tests fail"}
		if source.Float64() < 0.004 {
			r.Grade.Suspicious = []string{"changes conftest.py, and is resolved without this change"}
		}
	}
	return r
}
