package journal_test

import (
	"path/filepath"
	"testing"

	"batch.example/batch/journal"
)

// A call of unknown price that a kill cut off counts as the first answer whose cost is known.
func TestALostCallOfUnknownPriceIsBilledOnceAPriceIsKnown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	w := writer(t, path)
	if err := w.Begin(1, nil); err != nil {
		t.Fatal(err)
	}
	tell(t, w, journal.TypeRequest, journal.RequestData{Step: 1})
	w.Close() // killed
	w = writer(t, path)
	if err := w.Resume(nil, 0, nil); err != nil {
		t.Fatal(err)
	}
	for step, want := range []float64{0.5, 0.75} {
		tell(t, w, journal.TypeRequest, journal.RequestData{Step: step + 1}, journal.TypeReply, journal.ReplyData{Step: step + 1, Cost: 0.25, Priced: true, Message: []byte(`{}`)})
		if last, _ := w.State(); last.Lost != 1 || last.SpentSoFar() != want {
			t.Errorf("step %d: %d calls are lost and $%v spent; want 1, $%v", step+1, last.Lost, last.SpentSoFar(), want)
		}
	}
}
