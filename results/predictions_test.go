package results_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"batch.example/batch/fault"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/manifest"
	"batch.example/batch/vocab"
)

func TestImportedPredictionsAreReadAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	latin := []byte("+caf\xe9\n")
	want := []results.Prediction{
		{InstanceID: "b__1", Model: "m", Text: "+x\n", Patch: []byte("+x\n")},
		{InstanceID: "a__1", Model: "m", Text: "+caf\uFFFD\n", Patch: latin},
		{InstanceID: "c__1", Model: "m", Patch: []byte("")},
	}
	for range 2 { // the second time over the first
		s := open(t, dir)
		err := s.Import(want)
		if err == nil {
			err = s.WriteManifest(&manifest.Manifest{Command: "grade"})
		}
		if err != nil {
			t.Fatal(err)
		}
		closeStore(t, s)
	}
	s := open(t, dir)
	got, err := s.Predictions(nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("predictions (-want +got):\n%s", d)
	}
	if got, err = s.Predictions([]string{"a__1"}); err != nil || len(got) != 1 {
		t.Errorf("of one id: %v, %v", got, err)
	}
	closeStore(t, s)
}

func TestPredictionsOfAttemptsAreNotReplacedByAnImport(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	r := result("a__1", "")
	r.Submission, r.Prediction = []byte("+\xe9\n"), "GIT binary patch\n"
	put(t, s, r)
	got, err := s.Predictions(nil)
	if err != nil || len(got) != 1 || got[0].Attempt != 1 || string(got[0].Patch) != "+\xe9\n" || got[0].Text != "GIT binary patch\n" {
		t.Errorf("got %+v, %v; want the submission's bytes", got, err)
	}
	if err := s.Import(nil); fault.KindOf(err) != fault.Usage {
		t.Errorf("importing: %v, want a Usage fault", err)
	}
	closeStore(t, s)
}

// An import adds to the predictions of a directory. It replaces nothing, and does not mix
// models.
func TestAnImportKeepsThePredictionsThatStand(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	first := results.Prediction{InstanceID: "b__1", Model: "m", Patch: []byte("+caf\xe9\n")}.WithText()
	second := results.Prediction{InstanceID: "a__1", Model: "m", Patch: []byte("+x\n")}.WithText()
	if err := s.Import([]results.Prediction{first}); err != nil {
		t.Fatal(err)
	}
	sameText, otherModel := first, second
	sameText.Patch, otherModel.Model = []byte(first.Text), "n"
	for _, list := range [][]results.Prediction{{second, sameText}, {otherModel}} {
		if err := s.Import(list); fault.KindOf(err) != fault.Usage || fault.HintOf(err) == "" {
			t.Errorf("importing %+v: %v, want a Usage fault with a hint", list, err)
		}
	}
	for _, list := range [][]results.Prediction{{second}, {first, second}, nil} {
		if err := s.Import(list); err != nil {
			t.Fatal(err)
		}
		got, err := s.Predictions(nil)
		if d := cmp.Diff([]results.Prediction{first, second}, got); err != nil || d != "" {
			t.Errorf("%v, predictions (-want +got):\n%s", err, d)
		}
	}
	closeStore(t, s)
}

func TestPutReturnsThePredictionThatIsReadLater(t *testing.T) {
	const notText = "diff --git a/f b/f\n+\xff\n"
	salvaged := result("salvaged", "diff \ufffd")
	salvaged.Submission, salvaged.Salvage, salvaged.Record.Salvaged = nil, []byte(notText), true
	bytes := result("bytes", "another diff")
	bytes.Submission = []byte(notText)
	empty := result("empty", "")
	empty.Record.Outcome = vocab.OutcomeEmpty
	s := open(t, t.TempDir())
	for _, r := range []*results.Result{result("text", "diff é\n"), bytes, salvaged, empty} {
		made, err := s.Put(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		list, err := s.Predictions([]string{r.Record.InstanceID})
		if err != nil || len(list) != 1 {
			t.Fatalf("%v, %v; want one prediction", list, err)
		}
		if d := cmp.Diff(&list[0], made, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s: read and returned differ:\n%s", r.Record.InstanceID, d)
		}
		of := grades.Prediction{InstanceID: made.InstanceID, Attempt: made.Attempt, Patch: grades.PatchDigest(made.Text)}
		if other := (grades.Prediction{InstanceID: of.InstanceID, Attempt: 2, Patch: of.Patch}); !s.Stands(of) || s.Stands(other) {
			t.Errorf("%s: stands %t, and %t as of another attempt; want true, false", of.InstanceID, s.Stands(of), s.Stands(other))
		}
	}
	if made, err := s.Put(t.Context(), failed("failed")); made != nil || err != nil {
		t.Errorf("a failed attempt made %v, %v; want no prediction", made, err)
	}
}
