package results_test

import (
	"sync"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/results/manifest"
)

// A closed directory belongs to the next run: nothing may be written there.
func TestAClosedStoreWritesNothing(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, result("a", "first"))
	closeStore(t, s)
	next := open(t, dir)
	put(t, next, result("b", "second"))
	if err := next.WritePredictions(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := read(t, dir, "preds.json")
	for what, err := range map[string]error{
		"predictions": s.WritePredictions(t.Context()),
		"a manifest":  s.WriteManifest(&manifest.Manifest{Batch: "late"}),
		"a reset":     s.Reset([]string{"a"}, false),
		"a result":    putErr(t, s, result("c", "late")),
	} {
		if fault.KindOf(err) != fault.Bug {
			t.Errorf("got %s after Close: %v; want a Bug fault", what, err)
		}
	}
	if after := read(t, dir, "preds.json"); after != before {
		t.Errorf("preds.json changed from %s to %s", before, after)
	}
	if _, ok := next.Manifest(); ok {
		t.Error("a manifest was written after Close")
	}
}

func TestConcurrentWriteAndClose(t *testing.T) {
	for range 10 {
		dir := t.TempDir()
		s := open(t, dir)
		put(t, s, result("a", "p"))
		var all sync.WaitGroup
		all.Go(func() {
			if err := s.WritePredictions(t.Context()); err != nil && fault.KindOf(err) != fault.Bug {
				t.Errorf("the put was neither saved nor refused as closed: %v", err)
			}
		})
		all.Go(func() { closeStore(t, s) })
		all.Wait()
		if got := preds(t, dir)["a"].Patch; got != "p" {
			t.Errorf("the prediction is %q, want %q", got, "p")
		}
	}
}
