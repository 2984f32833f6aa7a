package journal_test

import (
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"batch.example/batch/journal"
)

// bill returns the counts and costs in the last record of a journal.
func bill(t *testing.T, path string) string {
	t.Helper()
	tail, err := journal.ReadTail(path)
	if err != nil {
		t.Fatal(err)
	}
	r := &tail.Last
	return fmt.Sprint(r.Calls, " for ", r.Cost, ", ", r.Lost, " for ", r.Held(), ", ", r.SpentSoFar())
}

// A crash may leave any prefix of a journal.
func TestACallCountsFromItsRequestOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	var spent, held float64
	open := func() *journal.Writer {
		tail, err := journal.ReadTail(path)
		if err != nil {
			t.Fatal(err)
		}
		w, err := journal.Open(path, tail, journal.Options{Spend: func(dollars, of float64) { spent, held = spent+dollars, held+of }})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	w := open()
	if err := w.Begin(1, struct{}{}); err != nil {
		t.Fatal(err)
	}
	for i, step := range []struct {
		typ  string
		data any
		want string
	}{
		{journal.TypeRequest, journal.RequestData{Step: 1, Reserved: 0.5}, "0 for 0, 1 for 0.5, 0.5"},
		{journal.TypeReply, journal.ReplyData{Step: 1, Cost: 0.25, Priced: true}, "1 for 0.25, 0 for 0, 0.25"},
		{journal.TypeRequest, journal.RequestData{Step: 2, Reserved: 0.5}, "1 for 0.25, 1 for 0.5, 0.75"},
		{journal.TypeUnpaid, journal.UnpaidData{Step: 2}, "1 for 0.25, 0 for 0, 0.25"},
		{journal.TypeTry, journal.TryData{Step: 2, Reserved: 0.5}, "1 for 0.25, 1 for 0.5, 0.75"},
		{journal.TypeLost, journal.LostData{Step: 2, Calls: 1, Cost: 0.5}, "1 for 0.25, 1 for 0.5, 0.75"},
		{journal.TypeTry, journal.TryData{Step: 2, Reserved: 0.75}, "1 for 0.25, 2 for 1.25, 1.5"},
		{journal.TypeReply, journal.ReplyData{Step: 2, Cost: 1, Priced: true}, "2 for 1.25, 1 for 0.5, 1.75"},
		{journal.TypeSummaryRequest, journal.SummaryRequestData{Step: 3, Reserved: 1}, "2 for 1.25, 2 for 1.5, 2.75"},
		{"crash", nil, "2 for 1.25, 2 for 1.5, 2.75"},
		{journal.TypeSummaryRequest, journal.SummaryRequestData{Step: 3, Reserved: 1}, "2 for 1.25, 3 for 2.5, 3.75"},
		{journal.TypeSummary, journal.SummaryData{Step: 3, Reply: journal.ReplyData{Cost: 2, Priced: true}}, "2 for 3.25, 2 for 1.5, 4.75"},
		{journal.TypeRequest, journal.RequestData{Step: 3, Reserved: 2}, "2 for 3.25, 3 for 3.5, 6.75"},
		{journal.TypeReply, journal.ReplyData{Step: 3}, "3 for 3.25, 3 for 3.5, 6.75"}, // of unknown cost
		{journal.TypeSummaryRequest, journal.SummaryRequestData{Step: 4, Reserved: 1}, "3 for 3.25, 4 for 4.5, 7.75"},
		{journal.TypeSummary, journal.SummaryData{Step: 4}, "3 for 3.25, 4 for 4.5, 7.75"},
		{journal.TypeRequest, journal.RequestData{Step: 4}, "3 for 3.25, 5 for 4.5, 7.75"}, // its cost cannot be known
	} {
		if step.typ == "crash" {
			w = open()
			last, _ := w.State()
			if err := w.Resume(struct{}{}, last.SpentSoFar(), nil); err != nil {
				t.Fatal(err)
			}
		} else if err := w.Append(step.typ, step.data); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := bill(t, path); got != step.want {
			t.Errorf("record %d, %s: %s; want %s", i, step.typ, got, step.want)
		}
	}
	if spent != 7.75 || held != 4.5 {
		t.Errorf("counted $%v, $%v for calls of unknown cost; want 7.75, 4.5", spent, held)
	}
}

// Versions that did not count running calls wrote the amount reserved for them.
func TestACallUnderWayOfAnOldVersionCounts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	line := `{"v":2,"seq":1,"attempt":1,"start":0,"calls":3,"cost":0.25,"spent":0.75,"t":"2026-01-02T03:04:05Z",` +
		`"type":"request","data":{"step":4,"digest":"d","reserved":0.5}`
	line = fmt.Sprintf("%s,\"crc\":\"%08x\"}\n", line, crc32.Checksum([]byte(line), crc32.MakeTable(crc32.Castagnoli)))
	if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := bill(t, path), "3 for 0.25, 1 for 1, 1.25"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
}
