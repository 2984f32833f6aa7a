package images

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestAnOutcomeIsReadAsItWasSavedOrNotAtAll(t *testing.T) {
	c := outcomesCache(t)
	if got := c.Outcome("key"); got != "" {
		t.Errorf("before it was saved: %q", got)
	}
	path := c.ledger.outcomePath("key")
	for name, change := range map[string]func() error{
		"as it was":      nil,
		"a bit":          func() error { return flip(path) },
		"cut":            func() error { return os.Truncate(path, 40) },
		"empty":          func() error { return os.Truncate(path, 0) },
		"of another key": func() error { return os.Rename(c.ledger.outcomePath("other"), path) },
		"of all users":   func() error { return os.Chmod(path, 0o666) },
		"all may read":   func() error { return os.Chmod(path, 0o644) },
		"another user's": func() error { return giveAway(path) },
		"a folder":       func() error { return replace(path, func() error { return os.Mkdir(path, 0o700) }) },
		"a link to none": func() error { return replace(path, func() error { return os.Symlink("x", path) }) },
	} {
		if err := c.ledger.DropOutcomes(); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"key", "other"} {
			if err := c.KeepOutcome(key, "bits of "+key+strings.Repeat(".", 50)); err != nil {
				t.Fatal(err)
			}
		}
		want := "bits of key" + strings.Repeat(".", 50)
		if change != nil {
			want = ""
			if err := change(); err != nil {
				t.Fatal(err)
			}
		}
		if got := c.Outcome("key"); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// A note says that there is nothing to scrub: another user must not say so.
func TestANoteOfAnotherUserIsNone(t *testing.T) {
	c := outcomesCache(t)
	path := c.ledger.notePath("key")
	for name, change := range map[string]func() error{
		"all may write it": func() error { return os.Chmod(path, 0o666) },
		"a pipe":           func() error { return replace(path, func() error { return syscall.Mkfifo(path, 0o600) }) },
		"another user's":   func() error { return giveAway(path) },
	} {
		if err := c.Remember("key", Note{Clean: true}); err != nil {
			t.Fatal(err)
		}
		if n, ok := c.Note("key"); !ok || !n.Clean {
			t.Fatalf("got %+v, %v", n, ok)
		}
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if n, ok := c.Note("key"); ok {
			t.Errorf("%s: got %+v, want none", name, n)
		}
		_ = os.Remove(path)
	}
}

// giveAway makes a file another user's; without that right, it removes the file.
func giveAway(path string) error {
	if os.Geteuid() != 0 {
		return os.Remove(path)
	}
	return os.Chown(path, 65534, -1)
}

func outcomesCache(t *testing.T) *Cache {
	t.Helper()
	l, err := OpenLedger(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return New(nil, l, Options{})
}

func flip(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	data[len(data)-1] ^= 1
	return os.WriteFile(path, data, 0o600)
}

func replace(path string, by func() error) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	return by()
}

func TestTheOutcomesUsedLongestAgoGo(t *testing.T) {
	c := outcomesCache(t)
	for i, key := range []string{"a", "b", "c"} {
		if err := c.KeepOutcome(key, strings.Repeat("x", 68)); err != nil { // 100 bytes with the checksum
			t.Fatal(err)
		}
		then := time.Now().Add(time.Duration(i-9) * time.Hour)
		if err := os.Chtimes(c.ledger.outcomePath(key), then, then); err != nil {
			t.Fatal(err)
		}
	}
	if c.Outcome("a") == "" {
		t.Error("a was not saved")
	}
	c.ledger.trimOutcomes(250)
	left, err := filepath.Glob(filepath.Join(c.ledger.outcomes(), "*"))
	if err != nil || len(left) != 2 || c.Outcome("a") == "" || c.Outcome("b") != "" {
		t.Errorf("%q, %v; want a, which was used, and c", left, err)
	}
}
