package hub

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"batch.example/batch/fault"
)

func TestFetchFillsTheStandardCache(t *testing.T) {
	s := newStub(t)
	var last, total int64
	c, _, _ := s.client(t, func(c *Config) { c.Progress = func(_ string, d, n int64) { last, total = d, n } })
	if !bytes.Equal(get(t, c), s.content) {
		t.Fatal("the fetched content differs from the served one")
	}
	if n := int64(len(s.content)); last != n || total != n {
		t.Errorf("progress ended at %d of %d, want %d", last, total, n)
	}
	dir := filepath.Join(c.conf.CacheDir, "datasets--own--set")
	if ref, _ := os.ReadFile(filepath.Join(dir, "refs", "main")); string(ref) != commit {
		t.Errorf("ref is %q, want ref %v", ref, commit)
	}
	link, err := os.Readlink(filepath.Join(dir, "snapshots", commit, filepath.FromSlash(file)))
	if want := "../../../blobs/" + s.etag(); err != nil || filepath.ToSlash(link) != want {
		t.Errorf("link to %q, %v; want %s", link, err, want)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "blobs", "*.incomplete")); left != nil {
		t.Errorf("temporary files left behind: %v", left)
	}
	before := len(s.calls)
	get(t, c)
	if len(s.calls) != before+1 {
		t.Errorf("a second fetch made the calls %v, want the revision's only", s.calls[before:])
	}
}

func TestBrokenDownloadIsResumed(t *testing.T) {
	s := newStub(t)
	s.cut, s.cuts = 100_000, maxTries+1 // more breaks than tries, but each try makes progress
	s.content = append(s.content, s.content...)
	c, waits, _ := s.client(t, nil)
	if !bytes.Equal(get(t, c), s.content) {
		t.Fatal("the fetched content differs from the served one")
	}
	if len(*waits) != maxTries+1 {
		t.Errorf("waited %d times, want once a break", len(*waits))
	}
	if !strings.Contains(strings.Join(s.calls, "\n"), "cdn GET /blob bytes=100000-") {
		t.Errorf("no request continued after the break: %v", s.calls)
	}
}

func TestAPartialDownloadOfAnEarlierProcessIsUsed(t *testing.T) {
	for name, part := range map[string]func(*stub) []byte{
		"a sound part":       func(s *stub) []byte { return s.content[:70_000] },
		"a wrong part":       func(*stub) []byte { return bytes.Repeat([]byte("x"), 70_000) },
		"more than the file": func(s *stub) []byte { return append(bytes.Clone(s.content), 'x') },
		"all of the file":    func(s *stub) []byte { return s.content },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStub(t)
			c, _, _ := s.client(t, nil)
			blobs := c.dir("own/set", "blobs")
			if err := os.MkdirAll(blobs, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(blobs, s.etag()+".incomplete"), part(s), 0o644); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(get(t, c), s.content) {
				t.Fatal("the fetched content differs from the served one")
			}
		})
	}
}

func TestACancelledDownloadKeepsItsPart(t *testing.T) {
	s := newStub(t)
	ctx, cancel := context.WithCancel(t.Context())
	c, _, _ := s.client(t, func(c *Config) { c.Progress = func(string, int64, int64) { cancel() } })
	snap, err := c.Resolve(ctx, "own/set", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = c.Fetch(ctx, snap, file); !fault.Canceled(err) {
		t.Fatalf("got %v (%v); want a cancellation", err, fault.KindOf(err))
	}
	info, err := os.Stat(c.dir("own/set", "blobs", s.etag()+".incomplete"))
	if err != nil || info.Size() == 0 {
		t.Errorf("the partial download was removed: %v", err)
	}
}

func TestTwoFetchesDownloadOnce(t *testing.T) {
	s := newStub(t)
	c, _, _ := s.client(t, nil)
	snap, err := c.Resolve(t.Context(), "own/set", "")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, err := c.Fetch(t.Context(), snap, file); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := strings.Count(strings.Join(s.calls, "\n"), "cdn GET"); n != 1 {
		t.Errorf("downloaded %d times, want 1", n)
	}
}

func TestHostileNamesStayInTheCache(t *testing.T) {
	s := newStub(t)
	c, _, _ := s.client(t, nil)
	for _, name := range []string{"../x", "/etc/passwd", "a/../../x"} {
		if _, err := c.Fetch(t.Context(), Snapshot{Repo: "own/set", Commit: commit}, name); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: got %v, want a Usage fault", name, err)
		}
	}
	for _, repo := range []string{"../x", "own", "a/b/c", "own/..", ""} {
		if _, err := c.Resolve(t.Context(), repo, ""); fault.KindOf(err) != fault.Usage {
			t.Errorf("%q: got %v, want a Usage fault", repo, err)
		}
	}
	if _, err := c.Resolve(t.Context(), "own/set", "../../x"); fault.KindOf(err) != fault.Usage {
		t.Errorf("revision: %v, want a Usage fault", err)
	}
	if len(s.calls) != 0 {
		t.Errorf("called %v, want no calls", s.calls)
	}
}
