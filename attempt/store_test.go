package attempt_test

import (
	"path/filepath"
	"slices"
	"testing"

	"batch.example/batch/dataset"
	"batch.example/batch/journal"
	"batch.example/batch/llm/scripted"
)

// The journals of batch runs are read by versions that know no sessions, so a batch run's turn
// has no records of its own.
func TestABatchRunsTurnHasNoRecordsOfASession(t *testing.T) {
	box := repo(t, map[string]string{"f.txt": "a\n"})
	_, dir, err := solve(t, hosts{box: box}, dataset.Instance{ID: "a__1"}, scripted.Noop(scripted.Config{}))
	if err != nil {
		t.Fatal(err)
	}
	records, _, err := journal.Read(filepath.Join(dir, "a__1", "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, r := range records {
		types = append(types, r.Type)
		if r.Version != 2 {
			t.Errorf("a record of the type %s has version %d, want 2", r.Type, r.Version)
		}
	}
	for _, typ := range []string{journal.TypeSession, journal.TypeTurn, journal.TypeTurnEnd, journal.TypeRetry} {
		if slices.Contains(types, typ) {
			t.Errorf("the journal has a record of the type %s: %q", typ, types)
		}
	}
	if !slices.Contains(types, journal.TypeRequest) {
		t.Errorf("there is no request in %q", types)
	}
}
