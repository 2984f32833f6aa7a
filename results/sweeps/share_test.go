package sweeps_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/sweeps"
)

// sweepOf makes the folder of a sweep with cells.
func sweepOf(t *testing.T, cells ...string) string {
	t.Helper()
	dir, x := t.TempDir(), sweeps.Index{}
	for _, name := range cells {
		x.Cells = append(x.Cells, sweeps.Cell{Folder: name})
	}
	if err := x.Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// share opens a share like a process that works in cells.
func share(t *testing.T, dir string, spent float64, cells ...string) *sweeps.Share {
	t.Helper()
	for _, cell := range cells {
		cell = filepath.Join(dir, cell)
		if err := os.MkdirAll(cell, 0o700); err != nil {
			t.Fatal(err)
		}
		unlock, err := results.Lock(cell, results.DefaultOwner())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unlock() })
	}
	return entered(t, dir, spent, cells...)
}

// entered opens a share without the locks of its cells.
func entered(t *testing.T, dir string, spent float64, cells ...string) *sweeps.Share {
	t.Helper()
	s, err := sweeps.OpenShare(dir, cells, spent)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// others enters a share's amounts, and returns the amounts of the others.
func others(t *testing.T, s *sweeps.Share, spent, reserved float64) (got string) {
	t.Helper()
	err := s.Update(func(otherSpent, otherReserved, _ float64) (float64, float64, float64) {
		got = fmt.Sprint(otherSpent, " ", otherReserved)
		return spent, reserved, 0
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// The cost of the most expensive call stays known after its process has ended.
func TestTheCostOfACallIsKnownToAll(t *testing.T) {
	dir := sweepOf(t, "a", "b")
	highest := func(s *sweeps.Share, own float64) (got float64) {
		t.Helper()
		err := s.Update(func(_, _, highest float64) (float64, float64, float64) {
			got = highest
			return 0, 0, own
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	a := share(t, dir, 0, "a")
	if got := highest(a, 0.25); got != 0 {
		t.Errorf("got %v, want 0: none is known", got)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	b := share(t, dir, 0, "b")
	for _, own := range []float64{0, 0.1} {
		if got := highest(b, own); got != 0.25 {
			t.Errorf("got %v, want 0.25", got)
		}
	}
}

// call records in a cell a reply that cost a dollar, and a call that got no reply.
func call(t *testing.T, dir string) {
	t.Helper()
	store, err := results.Open(dir, results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.WriteManifest(&manifest.Manifest{}); err != nil {
		t.Fatal(err)
	}
	a, err := store.Begin("a__1", manifest.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range []struct {
		typ  string
		data any
	}{
		{journal.TypeRequest, journal.RequestData{Step: 1, Reserved: 4}},
		{journal.TypeReply, journal.ReplyData{Step: 1, Cost: 1, Priced: true}},
		{journal.TypeRequest, journal.RequestData{Step: 2, Reserved: 2}},
	} {
		if err := a.Journal().Append(record.typ, record.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestSharesSeeEachOther(t *testing.T) {
	dir := sweepOf(t, "a", "b", "c", "d")
	call(t, filepath.Join(dir, "d"))
	one := share(t, dir, 1, "a", "b")
	if got := others(t, one, 1, 0.5); got != "3 0" {
		t.Errorf("one sees %s, want 3 of the journal of d", got)
	}
	two := share(t, dir, 8, "c")
	if got := others(t, two, 8, 0.25); got != "4 0.5" {
		t.Errorf("two sees %s, want 3 of d, 1 and 0.5 reserved of one", got)
	}
	if got := others(t, one, 2, 0); got != "11 0.25" {
		t.Errorf("one sees %s, want 3 of d, 8 and 0.25 reserved of two", got)
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	if got := others(t, two, 8, 0); got != "5 0" {
		t.Errorf("two sees %s, want 3 of d and the 2 of one, which has ended", got)
	}
	again := share(t, dir, 16, "d")
	if got := others(t, again, 16, 0); got != "8 0" {
		t.Errorf("d sees %s, want 8 of two, and nothing of a and b, which have no journal", got)
	}
}

// The reservations of a dead process may have been charged. The locks of its cells show that it
// died, on any machine.
func TestWhatADeadProcessHadReservedIsSpent(t *testing.T) {
	dir := sweepOf(t, "a", "b", "c")
	dead := entered(t, dir, 0, "b")
	others(t, dead, 1, 0.5)
	s := share(t, dir, 0, "a")
	if got := others(t, s, 0, 0); got != "0 0" {
		t.Errorf("it sees %s, want nothing: the journals say what the dead one has spent", got)
	}
	b := share(t, dir, 0, "b")
	others(t, b, 1, 0.5)
	if got := others(t, s, 0, 0); got != "1 0.5" {
		t.Errorf("it sees %s, want what the other one has spent and reserved", got)
	}
	if err := os.Remove(filepath.Join(dir, "b", ".batch.lock")); err != nil { // it is gone with its process
		t.Fatal(err)
	}
	if got := others(t, s, 0, 0); got != "1.5 0" {
		t.Errorf("it sees %s, want 1.5 of the dead one", got)
	}
	if got := others(t, share(t, dir, 0, "c"), 0, 0); got != "0 0" {
		t.Errorf("a new process sees %s, want nothing: the journals say what the dead one has spent", got)
	}
}

func TestABrokenLedgerRefusesCallsUntilItIsMadeAgain(t *testing.T) {
	dir := sweepOf(t, "a")
	s := share(t, dir, 0, "a")
	for _, text := range []string{"", "{", "null", "[]"} {
		if err := os.WriteFile(filepath.Join(dir, ".batch.ledger"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := s.Update(func(_, _, _ float64) (float64, float64, float64) { t.Errorf("%q: decided", text); return 0, 0, 0 })
		if fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), ".batch.ledger") {
			t.Errorf("%q: %v, want a host fault that names the file", text, err)
		}
	}
	if got := others(t, entered(t, dir, 0, "a"), 0, 0); got != "0 0" {
		t.Errorf("it sees %s, want nothing", got)
	}
}
