package selections

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/journal"
)

func open(t *testing.T, dir string) *Log {
	t.Helper()
	l, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func fill(t *testing.T, l *Log) {
	t.Helper()
	for _, err := range []error{
		l.Add(Selection{InstanceID: "a__1", Attempt: 1}),
		l.Add(Selection{InstanceID: "a__1", Attempt: 2, Candidates: []Candidate{{Attempt: 1}}}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.log.Add(journal.Entry{Type: "judged", Data: map[string]any{"instance_id": "a__1", "try": 1, "text": "SELECTED: 1"}}); err != nil { // by an earlier version
		t.Fatal(err)
	}
}

func TestWhatWasAddedIsRead(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	fill(t, l)
	all, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if held := l.All(); !reflect.DeepEqual(all, held) {
		t.Errorf("the file has %+v, the log %+v", all, held)
	}
	if len(all) != 2 {
		t.Errorf("read %+v", all)
	}
	if last := Latest(all)["a__1"]; last.Attempt != 2 {
		t.Errorf("attempt %d counts, want the last one's, 2", last.Attempt)
	}
}

func TestDamageIsReported(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	fill(t, l)
	path := filepath.Join(dir, File)
	text, _ := os.ReadFile(path)
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), `"a__1"`, `"a__9"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); fault.KindOf(err) != fault.Instance || !strings.Contains(err.Error(), "1") {
		t.Errorf("a damaged line: %v", err)
	}
	if all, err := Read(t.TempDir()); err != nil || len(all) > 0 {
		t.Errorf("no file: %+v, %v", all, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"v":1,"seq":1,"attempt":0,"start":0,"calls":0,"cost":0,"t":"2026-01-01T00:00:00Z","type":"selection","data":{},"crc":"00000000"}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, File), text, 0o600); err != nil {
			t.Fatal(err)
		}
		_, _ = Read(dir) // it does not panic
	})
}
