package journal_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/inject"
	"batch.example/batch/journal"
)

// openLog opens the log in dir, and returns the words in it.
func openLog(t *testing.T, dir, spec string) (l *journal.Log, words []string, err error) {
	t.Helper()
	plan, err := inject.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	l, err = journal.OpenLog(filepath.Join(dir, "log.jsonl"), journal.LogOptions{Files: atomicfile.Files{Inject: plan}},
		func(r journal.Record, _ journal.Place) error {
			word, err := journal.Decode[string](r)
			words = append(words, word)
			return err
		})
	return l, words, err
}

func word(text string) journal.Entry { return journal.Entry{Type: "word", Data: text} }

// If adding several records fails at any point, the next Add replaces whatever that left in the
// file.
func TestAnAdditionThatFailedIsReplaced(t *testing.T) {
	for n := 1; ; n++ {
		dir := t.TempDir()
		before, _, err := openLog(t, dir, "")
		if err == nil {
			_, err = before.Add(word("a"))
		}
		if err != nil {
			t.Fatal(err)
		}
		spec := fmt.Sprintf("journal.append:%d=EIO", n)
		if n > 3 {
			spec = []string{"journal.write:1=ENOSPC", "journal.sync:1=EIO"}[n-4]
		}
		l, _, err := openLog(t, dir, spec)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Add(word(strings.Repeat("x", 1000)), word("y"), word("z")); fault.KindOf(err) != fault.Host {
			t.Errorf("%s: %v, want a Host fault", spec, err)
		}
		places, err := l.Add(word("b"), word("c"))
		if err != nil {
			t.Errorf("%s: %v", spec, err)
		}
		for i, want := range []string{"b", "c"} {
			r, err := l.At(places[i])
			if got, failed := journal.Decode[string](r); got != want || err != nil || failed != nil {
				t.Errorf("%s: at %d is %q, %v; want %q", spec, places[i], got, errors.Join(err, failed), want)
			}
		}
		after, words, err := openLog(t, dir, "")
		if err != nil || !slices.Equal(words, []string{"a", "b", "c"}) || len(after.Recovered()) > 0 {
			t.Errorf("%s: read %q, %v, notes %q", spec, words, err, after.Recovered())
		}
		if n == 5 {
			return
		}
	}
}

func TestAClosedLogTakesNoRecord(t *testing.T) {
	l, _, err := openLog(t, t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	if !l.Empty() {
		t.Error("a new log is not empty")
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := l.Add(word("a")); fault.KindOf(err) != fault.Bug {
		t.Errorf("added to a closed log: %v", err)
	}
}

// Concurrent additions are not mixed, and each record has its own place.
func TestAdditionsAtOnce(t *testing.T) {
	dir := t.TempDir()
	l, _, err := openLog(t, dir, "")
	if err != nil {
		t.Fatal(err)
	}
	var adding sync.WaitGroup
	for w := range 8 {
		adding.Go(func() {
			for i := range 5 {
				text := fmt.Sprintf("%d-%d", w, i)
				at, err := l.Add(word(text))
				if err != nil {
					t.Error(err)
					return
				}
				r, err := l.At(at[0])
				if got, failed := journal.Decode[string](r); err != nil || failed != nil || got != text {
					t.Errorf("at %d is %q, %v; want %q", at[0], got, errors.Join(err, failed), text)
				}
			}
		})
	}
	adding.Wait()
	if _, words, err := openLog(t, dir, ""); err != nil || len(words) != 40 {
		t.Errorf("%d words, %v; want 40", len(words), err)
	}
	info, err := os.Stat(filepath.Join(dir, "log.jsonl"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600: it may hold secrets", info.Mode(), err)
	}
}

// OpenLog fails if the log cannot be written, before any work; and another program sees that
// the work began.
func TestOpeningALogCreatesIt(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := openLog(t, dir, ""); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "log.jsonl")); err != nil || info.Size() != 0 {
		t.Errorf("%v, %v; want an empty file", info, err)
	}
}

// Records after a gap could never be read.
func TestAFileThatWasMovedAwayGetsNoGap(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "log.jsonl")
	l, _, err := openLog(t, dir, "")
	if err == nil {
		_, err = l.Add(word("a"))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := l.Add(word("b")); fault.KindOf(err) != fault.Host {
			t.Errorf("%v, want a Host fault", err)
		}
	}
	if _, words, err := openLog(t, dir, ""); err != nil || len(words) != 0 {
		t.Errorf("%q, %v; want no record", words, err)
	}
}
