package view_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"batch.example/batch/internal/mask"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/view"
	"batch.example/batch/vocab"
)

// BenchmarkOverview requests the first page of 8 runs, after they were read once (warm), and from a new
// server that has read nothing (cold).
func BenchmarkOverview(b *testing.B) {
	for _, instances := range []int{500, 1000} {
		dir := b.TempDir()
		var all sync.WaitGroup
		for run := range 8 {
			all.Go(func() { graded(b, filepath.Join(dir, fmt.Sprintf("model-%d", run)), instances, run) })
		}
		all.Wait()
		b.Run(fmt.Sprintf("warm/%dx8", instances), func(b *testing.B) {
			h := server(b, dir)
			fetched(b, h, "/")
			for b.Loop() {
				fetched(b, h, "/")
			}
		})
		b.Run(fmt.Sprintf("by repository/%dx8", instances), func(b *testing.B) {
			h := server(b, dir)
			fetched(b, h, "/")
			for b.Loop() {
				fetched(b, h, "/?group=repo&sort=cost")
			}
		})
		b.Run(fmt.Sprintf("cold/%dx8", instances), func(b *testing.B) {
			for b.Loop() {
				fetched(b, server(b, dir), "/")
			}
		})
	}
}

func server(t testing.TB, roots ...string) http.Handler {
	t.Helper()
	s, err := view.New(view.Config{Roots: roots, Token: token, Hosts: []string{"example.com"}, Mask: mask.New()})
	if err != nil {
		t.Fatal(err)
	}
	return s.Handler()
}

func fetched(t testing.TB, h http.Handler, address string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, address, http.NoBody)
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", address, w.Code, w.Body)
	}
	return w
}

// graded makes a run directory with a verdict on each instance.
func graded(t testing.TB, dir string, instances, run int) {
	s, err := results.Open(dir, results.Options{})
	if err != nil {
		t.Error(err)
		return
	}
	log, err := s.Grades()
	if err != nil {
		t.Error(err)
		return
	}
	for i := range instances {
		id := fmt.Sprintf("owner%d__repo-%d", i%12, 1000+i)
		p, err := s.Put(t.Context(), &results.Result{
			Record: results.Record{
				InstanceID: id, Status: "Submitted", Outcome: vocab.OutcomeSubmitted, Model: "m", Steps: 20 + i%50, Cost: 0.25,
				Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Time: results.Phases{Model: 100, Total: 125},
			},
			Submission: []byte("+x\n"), Prediction: "+x\n",
		})
		if err != nil {
			t.Error(err)
			return
		}
		verdict := vocab.VerdictResolved
		if (i+run)%3 == 0 {
			verdict = vocab.VerdictUnresolved
		}
		if err := log.Add(grades.Grade{InstanceID: id, Attempt: 1, Model: p.Model, Patch: grades.PatchDigest(p.Text), Verdict: verdict}); err != nil {
			t.Error(err)
			return
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
