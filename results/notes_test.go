package results_test

import (
	"reflect"
	"slices"
	"testing"

	"batch.example/batch/results"
	"batch.example/batch/results/notes"
)

// Notes are added while a run has the directory, and outlive its work.
func TestNotesAndRunsDoNotDisturbEachOther(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, result("a", "first"))
	n, err := notes.Add(dir, notes.Note{Instance: "a", Attempt: 1, Label: "gave-up"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Reset([]string{"a"}, false); err != nil {
		t.Fatal(err)
	}
	put(t, s, result("a", "second"))
	closeStore(t, s)
	closeStore(t, open(t, dir))
	if list, err := notes.Read(dir); err != nil || !reflect.DeepEqual(list, []notes.Note{n}) {
		t.Errorf("notes %+v, %v; want %+v", list, err, n)
	}
	snap, err := results.Read(dir)
	if err != nil || len(snap.Records) != 2 || len(snap.Notes) > 0 || !slices.Equal(snap.Asked(), []string{"a"}) {
		t.Errorf("snapshot %+v, %v", snap, err)
	}
}
