package results_test

import (
	"strings"
	"testing"

	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/vocab"
)

func TestMixedResultsAreNamed(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for _, id := range []string{"a", "b"} {
		r := result(id, "patch")
		r.Record.Model = "model-" + id
		put(t, s, r)
	}
	failure := failed("c")
	failure.Record.Model = "model-c" // a model without a result
	put(t, s, failure)
	earlier := &manifest.Manifest{Mixed: []manifest.Difference{{Name: "agent.step_limit", Now: "1", Was: "2"}}}
	m := &manifest.Manifest{}
	m.Mix(earlier, []manifest.Difference{{Name: "model.model_name"}, {Name: "agent.step_limit", Now: "3", Was: "1"}, {Name: "model"}})
	if err := s.WriteManifest(m); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	snap, err := results.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	const want = "mixed: the results are of several models (model-a, model-b), and made with different settings (agent.step_limit)"
	if got := strings.Join(snap.Notes, "\n"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := results.MixedIn(snap); len(got.Models) != 2 || len(got.Settings) != 1 || snap.Manifest.Mixed[1].Now != "3" {
		t.Errorf("got %+v, manifest %+v", got, snap.Manifest.Mixed)
	}
	foreign := results.Record{InstanceID: "b", Status: vocab.StatusSubmitted, Outcome: vocab.OutcomeSubmitted}
	own := foreign
	own.InstanceID, own.Attempt = "a", 1
	if got := results.MixedIn(&results.Snapshot{Records: []results.Record{own, foreign}}).Note(); got != "mixed: the results are in part of another tool (1)" {
		t.Errorf("got %q", got)
	}
	if got := results.MixedIn(&results.Snapshot{Records: []results.Record{foreign}}); got != nil {
		t.Errorf("of another tool only: %+v", got)
	}
	if got := results.MixedIn(); got != nil || got.Note() != "" {
		t.Errorf("got %+v of nothing", got)
	}
}
