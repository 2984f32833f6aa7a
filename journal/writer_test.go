package journal_test

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/inject"
	"batch.example/batch/journal"
)

// injected opens a new journal with failures.
func injected(t *testing.T, spec string) *journal.Writer {
	t.Helper()
	plan, err := inject.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	w, err := journal.Open(filepath.Join(t.TempDir(), "journal.jsonl"), journal.Tail{},
		journal.Options{Files: atomicfile.Files{Inject: plan}, Spend: func(_, _ float64) {}})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func note(t *testing.T, w *journal.Writer) {
	t.Helper()
	if err := w.Append("note", 1); err != nil {
		t.Fatal(err)
	}
}

func TestCloseReturnsOnlyAFailureThatNobodyWasGiven(t *testing.T) {
	for name, c := range map[string]struct {
		spec string
		act  func(w *journal.Writer) error // the failure that it returns is the caller's
		lost bool                          // Close fails
	}{
		"a full disk that Flush met": {"journal.write:1+=ENOSPC", (*journal.Writer).Flush, false},
		"a full disk that Sync met":  {"journal.write:1+=ENOSPC", (*journal.Writer).Sync, false},
		"a full disk that Append met": {"journal.write:1+=ENOSPC", func(w *journal.Writer) error {
			return w.Append("note", make([]byte, 1<<20))
		}, false},
		"a failed fsync":            {"journal.sync:1=EIO", (*journal.Writer).Sync, false},
		"space that was free again": {"journal.write:1=ENOSPC", (*journal.Writer).Flush, false},
		"a full disk before Close":  {"journal.write:1+=ENOSPC", nil, true},
		"one after space was free again": {"journal.write:1=ENOSPC,journal.write:3=EIO", func(w *journal.Writer) error {
			err := w.Flush()
			return errors.Join(err, w.Flush(), w.Append("note", 2))
		}, true},
	} {
		w := injected(t, c.spec)
		note(t, w)
		if c.act != nil && c.act(w) == nil {
			t.Errorf("%s: no failure before Close", name)
		}
		if err := w.Close(); (err != nil) != c.lost {
			t.Errorf("%s: Close returns %v", name, err)
		}
	}
}

// Callers of several methods can then see that it is one failure.
func TestAFailureThatLastsIsOneError(t *testing.T) {
	w := injected(t, "journal.write:1+=ENOSPC")
	note(t, w)
	first := w.Flush()
	if second := w.Sync(); !errors.Is(first, syscall.ENOSPC) || !errors.Is(first, second) {
		t.Errorf("%v, then another error: %v", first, second)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
