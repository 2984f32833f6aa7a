package view_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/vocab"
)

// BenchmarkOverview requests the first page of 8 runs, after they were read once (warm), and from a new
// server that has read nothing (cold).
func BenchmarkOverview(b *testing.B) {
	for _, instances := range []int{500, 1000} {
		dir := b.TempDir()
		for run := range 8 {
			graded(b, filepath.Join(dir, fmt.Sprintf("model-%d", run)), instances, run)
		}
		b.Run(fmt.Sprintf("warm/%dx8", instances), func(b *testing.B) {
			s := serve(b, dir, usual, nil)
			fetched(b, s, "/")
			for b.Loop() {
				fetched(b, s, "/")
			}
		})
		b.Run(fmt.Sprintf("by repository/%dx8", instances), func(b *testing.B) {
			s := serve(b, dir, usual, nil)
			fetched(b, s, "/")
			for b.Loop() {
				fetched(b, s, "/?group=repo&sort=cost")
			}
		})
		b.Run(fmt.Sprintf("cold/%dx8", instances), func(b *testing.B) {
			for b.Loop() {
				fetched(b, serve(b, dir, usual, nil), "/")
			}
		})
	}
}

func fetched(b *testing.B, s *site, address string) {
	b.Helper()
	if code, _, body := s.get(b, address); code != http.StatusOK {
		b.Fatalf("%s: %d %s", address, code, body)
	}
}

// graded makes a run directory with a verdict on each instance.
func graded(t testing.TB, dir string, instances, run int) {
	s, err := results.Open(dir, results.Options{})
	must(t, err)
	log, err := s.Grades()
	must(t, err)
	for i := range instances {
		id := fmt.Sprintf("owner%d__repo-%d", i%12, 1000+i)
		p, err := s.Put(t.Context(), &results.Result{
			Record: results.Record{
				InstanceID: id, Status: "Submitted", Outcome: vocab.OutcomeSubmitted, Model: "m", Steps: 20 + i%50, Cost: 0.25,
				Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Time: results.Phases{Model: 100, Total: 125},
			},
			Submission: []byte("+x\n"), Prediction: "+x\n",
		})
		must(t, err)
		verdict := vocab.VerdictResolved
		if (i+run)%3 == 0 {
			verdict = vocab.VerdictUnresolved
		}
		must(t, log.Add(grades.Grade{InstanceID: id, Attempt: 1, Model: p.Model, Patch: grades.PatchDigest(p.Text), Verdict: verdict}))
	}
	must(t, s.Close())
}
