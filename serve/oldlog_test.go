package serve

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/a2a"

	"batch.example/batch/journal"
)

// old returns a log in the form of an earlier version.
func old(t *testing.T, path string) []byte {
	t.Helper()
	var text bytes.Buffer
	err := readLog(path, func(e entry) error {
		return json.NewEncoder(&text).Encode(oldEntry{e.Type, e})
	})
	if err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

// Messages and results of an earlier version are answered as before, from a log with checksums.
func TestALogOfAnEarlierVersionIsConverted(t *testing.T) {
	s := settings{dir: t.TempDir(), model: &parrot{}}
	w := newWorld(t, s)
	c := w.client("")
	first := send(t, c, say("run echo b >> f.txt"))
	patch := product1(t, first, patchName)
	second := send(t, c, in(say("ask Which?"), first.ContextID))
	w.stop()
	path := filepath.Join(s.dir, first.ContextID, logName)
	text := old(t, path)
	calls := s.model.count()
	for name, torn := range map[string]string{"whole": "", "torn": `{"type":"message","ti`} {
		if err := os.WriteFile(path, append(bytes.Clone(text), torn...), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path+".new", []byte("half a li"), 0o600); err != nil { // left by a crash
			t.Fatal(err)
		}
		if known, err := Contexts(s.dir); err != nil || len(known) != 1 || known[0].ID != first.ContextID {
			t.Errorf("%s: contexts %v, %v", name, known, err)
		}
		w := newWorld(t, s)
		c := w.client("")
		expect(t, until(t, c, first.ID), a2a.TaskStateCompleted, "done: 0")
		if got := product1(t, get(t, c, first.ID), patchName); got != patch {
			t.Errorf("%s: the patch is %q, want %q", name, got, patch)
		}
		expect(t, until(t, c, second.ID), a2a.TaskStateInputRequired, "Which?")
		if s.model.count() != calls {
			t.Errorf("%s: %d calls, want none", name, s.model.count()-calls)
		}
		w.stop()
		if records, torn, err := journal.Read(path); err != nil || torn != 0 || len(records) != bytes.Count(text, []byte("\n")) {
			t.Errorf("%s: %d records, %d torn bytes, %v", name, len(records), torn, err)
		}
		if _, err := os.Stat(path + ".new"); err == nil {
			t.Errorf("%s: the new log was left beside the old one", name)
		}
	}
}

// A damaged line in an earlier version's log is not skipped, and nothing is lost.
func TestADamagedLogOfAnEarlierVersionStays(t *testing.T) {
	text := []byte("{\"type\":\"context\",\"owner\":\"a\"}\nrubbish\n{\"type\":\"unpush\",\"task\":\"c.1\"}\n")
	path := filepath.Join(t.TempDir(), logName)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := openLog(path, func(entry, journal.Place) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "reading a context's log") {
		t.Errorf("opened it: %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, text) {
		t.Errorf("the file is %q, %v", after, err)
	}
}
