package results_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"batch.example/batch/fault"
	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
)

// journalled makes a directory with one instance of two attempts, the second
// one running with n replies, and returns its journal's path.
func journalled(t testing.TB, dir string, n int) string {
	t.Helper()
	s := open(t, dir)
	put(t, s, failed("a"))
	a, err := s.Begin("a", manifest.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		err := a.Journal().Append(journal.TypeReply, map[string]any{"cost": 1, "text": fmt.Sprintf("%d %s", i, hostile)})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Journal().Sync(); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	return filepath.Join(dir, "a", "journal.jsonl")
}

func TestReadJournal(t *testing.T) {
	path := journalled(t, t.TempDir(), 3)
	records, torn, err := journal.Read(path)
	if err != nil || torn != 0 {
		t.Fatalf("torn %d, %v; want torn 0, no error", torn, err)
	}
	var types []string
	for i, r := range records {
		types = append(types, r.Type)
		if r.Seq != int64(i+1) || r.Version != 2 || r.Time.IsZero() {
			t.Errorf("record %d: got %+v, want seq %v, version 2, a time set", i, r, int64(i+1))
		}
	}
	if got := strings.Join(types, " "); got != "attempt end attempt reply reply reply" {
		t.Errorf("types %s, want %q", got, "attempt end attempt reply reply reply")
	}
	last := records[len(records)-1]
	if last.Attempt != 2 || last.Calls != 3 || last.Cost != 3 {
		t.Errorf("last %+v, want attempt 2, calls 3, cost 3", last)
	}
	text := read(t, path)
	if !strings.HasPrefix(text[last.Start:], `{"v":2,"seq":3,"attempt":2,`) {
		t.Errorf("start %d is not the position of the attempt's record", last.Start)
	}
	if head, _, _ := strings.Cut(text[last.Start:], `,"type":`); strings.Contains(head, "spent") {
		t.Errorf("an attempt without a lost call records spent beside the cost: %s", head)
	}
}

func TestATornTailIsCutAtEveryLength(t *testing.T) {
	whole := read(t, journalled(t, t.TempDir(), 2))
	lastLine := strings.LastIndex(whole[:len(whole)-1], "\n") + 1
	for size := lastLine; size < len(whole); size++ {
		dir := t.TempDir()
		write(t, whole[:size], dir, "a", "journal.jsonl")
		path := filepath.Join(dir, "a", "journal.jsonl")
		records, torn, err := journal.Read(path)
		if err != nil || len(records) != 4 || torn != int64(size-lastLine) {
			t.Fatalf("cut at %d: %d records, torn %d, %v", size, len(records), torn, err)
		}
		if size > lastLine+3 && size < len(whole)-3 && size%37 != 0 {
			continue // the rest syncs files and is slow, and all cuts inside a line are equal
		}
		s := open(t, dir)
		if got, want := len(s.Recovered()), min(1, size-lastLine); got != want {
			t.Fatalf("cut at %d: recovered %q, want %v", size, s.Recovered(), want)
		}
		if got := s.Spent(); got != 1.5 {
			t.Fatalf("cut at %d: spent %v, want 1.5", size, got)
		}
		if n := put(t, s, result("a", "x")); n != 3 {
			t.Fatalf("cut at %d: attempt %d, want 3", size, n)
		}
		closeStore(t, s)
		if records, torn, err := journal.Read(path); err != nil || torn != 0 || len(records) != 8 {
			t.Fatalf("cut at %d, then appended to: %d records, torn %d, %v", size, len(records), torn, err)
		}
	}
}

func TestOtherTornTails(t *testing.T) {
	whole := read(t, journalled(t, t.TempDir(), 2))
	for name, tail := range map[string]string{
		"zeros":                        strings.Repeat("\x00", 5000),
		"zeros beyond the first block": strings.Repeat("\x00", 100_000),
		"lines that are not records":   "{}\nnull\n\n{\"v\":1,\"crc\":\"00000000\"}\n",
		"many short lines":             strings.Repeat("\n", 50_000),
		"a line that never ends":       `{"v":1,` + strings.Repeat("x", 70_000),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, whole+tail, dir, "a", "journal.jsonl")
			_, torn, err := journal.Read(filepath.Join(dir, "a", "journal.jsonl"))
			if err != nil || torn != int64(len(tail)) {
				t.Errorf("torn %d of %d, %v; want torn %v, no error", torn, len(tail), err, int64(len(tail)))
			}
			if s := open(t, dir); s.Spent() != 2.5 || len(s.Recovered()) != 1 {
				t.Errorf("spent %v, recovered %q; want spent 2.5, 1 message", s.Spent(), s.Recovered())
			}
			if got := read(t, dir, "a", "journal.jsonl"); got != whole {
				t.Error("the journal was not cut to its whole records")
			}
		})
	}
}

func TestDamageInTheMiddleIsAnErrorWithItsLine(t *testing.T) {
	path := journalled(t, t.TempDir(), 3)
	text := []byte(read(t, path))
	line4 := nthLine(text, 4)
	text[line4+20] ^= 1
	write(t, string(text), path)
	records, _, err := journal.Read(path)
	if fault.KindOf(err) != fault.Instance || !strings.Contains(err.Error(), "line 4") {
		t.Errorf("error %v, want an Instance fault with %q", err, "line 4")
	}
	if len(records) != 3 {
		t.Errorf("%d records before the damage, want 3", len(records))
	}
	s := open(t, filepath.Dir(filepath.Dir(path)))
	if s.Spent() != 3.5 {
		t.Errorf("the end of the journal is readable, but spent is %v", s.Spent())
	}
}

func TestAMissingRecordIsAnError(t *testing.T) {
	path := journalled(t, t.TempDir(), 3)
	text := []byte(read(t, path))
	text = append(text[:nthLine(text, 4):nthLine(text, 4)], text[nthLine(text, 5):]...)
	write(t, string(text), path)
	if _, _, err := journal.Read(path); err == nil || !strings.Contains(err.Error(), "record 5 follows record 3") {
		t.Errorf("error %v, want an error with %q", err, "record 5 follows record 3")
	}
}

func TestAJournalOfAnotherProgramIsMovedAside(t *testing.T) {
	dir := t.TempDir()
	write(t, "{\"somebody\":\"else\"}\n", dir, "a", "journal.jsonl")
	s := open(t, dir)
	if len(s.Recovered()) != 1 || read(t, dir, "a", "journal.jsonl.corrupt-1") != "{\"somebody\":\"else\"}\n" {
		t.Errorf("recovered %q, want 1 message and the old journal moved aside", s.Recovered())
	}
	if n := put(t, s, result("a", "x")); n != 1 {
		t.Errorf("attempt %d, want 1", n)
	}
}

func TestANewerJournalIsRefused(t *testing.T) {
	dir := t.TempDir()
	body := `{"v":99,"seq":1,"attempt":1,"start":0,"calls":0,"cost":0,"t":"2030-01-01T00:00:00Z","type":"attempt","data":{}`
	write(t, body+fmt.Sprintf(",\"crc\":\"%08x\"}\n", castagnoli(body)), dir, "a", "journal.jsonl")
	_, err := results.Open(dir, results.Options{})
	if fault.KindOf(err) != fault.Usage || !strings.Contains(fault.HintOf(err), "newer batch") {
		t.Errorf("error %v (%v); want a Usage fault, %q", err, fault.KindOf(err), "newer batch")
	}
	closeStore(t, open(t, t.TempDir()))
}

func TestTheLastRecordIsFoundBehindHugeRecords(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	big := strings.Repeat("+ a long line of a patch é\n", 30_000)
	put(t, s, result("a", big))
	closeStore(t, s)
	if err := os.Remove(filepath.Join(dir, "preds.json")); err != nil {
		t.Fatal(err)
	}
	closeStore(t, open(t, dir))
	if got := preds(t, dir)["a"].Patch; got != big {
		t.Errorf("read %d bytes, want %d", len(got), len(big))
	}
}

func nthLine(text []byte, n int) int {
	at := 0
	for range n - 1 {
		at += bytes.IndexByte(text[at:], '\n') + 1
	}
	return at
}

func FuzzScanJournal(f *testing.F) {
	whole := read(f, journalled(f, f.TempDir(), 2))
	f.Add([]byte(whole), 10, byte(1))
	f.Add([]byte(whole), len(whole)-3, byte(0x80))
	f.Add([]byte("\n\n{}"), 0, byte(0))
	f.Add([]byte{}, 0, byte(0))
	f.Fuzz(func(t *testing.T, text []byte, at int, flip byte) {
		if at >= 0 && at < len(text) {
			text[at] ^= flip
		}
		seq := int64(0)
		torn, err := journal.Scan(bytes.NewReader(text), func(r journal.Record) error {
			if seq++; r.Seq != seq {
				t.Errorf("sequence %d delivered as number %d", r.Seq, seq)
			}
			return nil
		})
		if err == nil && torn > int64(len(text)) {
			t.Errorf("torn %d of %d bytes; want torn at most %v or an error", torn, len(text), int64(len(text)))
		}
	})
}

func TestDamageInTheFirstLineIsAnErrorWithItsLine(t *testing.T) {
	path := journalled(t, t.TempDir(), 1)
	text := []byte(read(t, path))
	text[20] ^= 1
	write(t, string(text), path)
	if records, _, err := journal.Read(path); fault.KindOf(err) != fault.Instance || !strings.Contains(err.Error(), "line 1 ") || len(records) > 0 {
		t.Errorf("got %d records, %v; want an Instance fault with %q, no records", len(records), err, "line 1 ")
	}
}

func TestAJournalThatCannotBeReadIsTheHostsFault(t *testing.T) {
	broken := errors.New("input/output error")
	whole := read(t, journalled(t, t.TempDir(), 1))
	seen := 0
	_, err := journal.Scan(io.MultiReader(strings.NewReader(whole), iotest.ErrReader(broken)), func(journal.Record) error { seen++; return nil })
	if !errors.Is(err, broken) || fault.KindOf(err) != fault.Host || seen != 4 {
		t.Errorf("got %v (%v) after %d records; want error %v, a Host fault, 4", err, fault.KindOf(err), seen, broken)
	}
	if records, torn, err := journal.Read(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) || len(records) > 0 || torn != 0 {
		t.Errorf("a missing file: %d records, %d bytes, error %v", len(records), torn, err)
	}
	stop := errors.New("enough")
	if _, err := journal.Scan(strings.NewReader(whole), func(journal.Record) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("fn's error: %v, want error %v", err, stop)
	}
}
