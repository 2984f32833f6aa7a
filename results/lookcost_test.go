//go:build !race

package results_test

import (
	"fmt"
	"testing"

	"batch.example/batch/internal/tier"
	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
)

// `batch status` reads the end of each journal, and preds.json without writing it again.
func TestReadTakesAsMuchForLongJournals(t *testing.T) {
	tier.Rest(t)
	allocations := func(steps int) float64 {
		dir := t.TempDir()
		s := open(t, dir)
		for i := range 20 {
			id := fmt.Sprint("i-", i)
			a, err := s.Begin(id, manifest.Settings{})
			if err != nil {
				t.Fatal(err)
			}
			for range steps {
				tell(t, a, journal.TypeRequest, request(1), journal.TypeReply, reply(1), journal.TypeMessages, says("so"))
			}
			end(t, s, a, result(id, "+ é\n"))
		}
		closeStore(t, s)
		return testing.AllocsPerRun(5, func() {
			if snap, err := results.Read(dir); err != nil || len(snap.Records) != 20 {
				t.Error(snap, err)
			}
		})
	}
	const most = 95 // for an instance; 86 in November 2026
	short, long := allocations(1), allocations(200)
	if long > short+5 || long/20 > most {
		t.Errorf("%v allocations with journals of 200 steps, %v with one step; want no more, and at most %d for each of 20 instances", long, short, most)
	}
}
