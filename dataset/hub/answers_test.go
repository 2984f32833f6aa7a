package hub

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"batch.example/batch/fault"
)

// answer is a server's answer for the one file of a dataset.
type answer func(w http.ResponseWriter, r *http.Request)

const blobID = `"00112233445566778899aabbccddeeff00112233"`

// fetchFrom fetches a file from a hub that answers with say. It returns the number of requests and
// the content.
func fetchFrom(t *testing.T, say answer) (calls int, data []byte, c *Client, err error) {
	t.Helper()
	const most = 50
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls++; calls > most {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		say(w, r)
	}))
	t.Cleanup(srv.Close)
	c = New(Config{Endpoint: srv.URL, CacheDir: t.TempDir()})
	c.pause = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	path, err := c.Fetch(t.Context(), Snapshot{Repo: "own/set", Commit: commit}, "test.jsonl")
	if calls > most {
		t.Error("the client does not stop making requests")
	}
	if err == nil {
		data, err = os.ReadFile(path)
	}
	return calls, data, c, err
}

func TestHubAnswersThatAreNotTheFileAreRefused(t *testing.T) {
	content := bytes.Repeat([]byte("{\"instance_id\": \"a\"}\n"), 1000)
	hub := func(w http.ResponseWriter, size int) {
		w.Header().Set("X-Repo-Commit", commit)
		w.Header().Set("Etag", blobID)
		if size >= 0 {
			w.Header().Set("Content-Length", fmt.Sprint(size))
		}
	}
	for name, say := range map[string]answer{
		"a login page": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<html>please log in</html>"))
		},
		"a page with an etag": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Etag", blobID)
			_, _ = w.Write([]byte("<html>please log in</html>"))
		},
		"nothing": func(w http.ResponseWriter, _ *http.Request) {
			hub(w, -1)
			w.WriteHeader(http.StatusNoContent)
		},
		"another commit": func(w http.ResponseWriter, _ *http.Request) {
			hub(w, len(content))
			w.Header().Set("X-Repo-Commit", strings.Repeat("f", 40))
			_, _ = w.Write(content)
		},
		"no etag": func(w http.ResponseWriter, _ *http.Request) {
			hub(w, len(content))
			w.Header().Del("Etag")
			_, _ = w.Write(content)
		},
		"no length, and a break that looks like the end": func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead {
				hub(w, -1)
				w.Header().Set("Transfer-Encoding", "identity")
				return
			}
			conn, buf, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = fmt.Fprintf(buf, "HTTP/1.0 200 OK\r\n\r\n%s", content[:len(content)/2])
			_ = buf.Flush()
			_ = conn.Close()
		},
		"packed, though asked not to": func(w http.ResponseWriter, _ *http.Request) {
			hub(w, 4)
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write([]byte("\x1f\x8b\x08\x00"))
		},
		"breaks at the same byte each time, from the start": func(w http.ResponseWriter, r *http.Request) {
			hub(w, len(content))
			if r.Method == http.MethodGet {
				_, _ = w.Write(content[:1000])
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
		},
		"shorter than was said": func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead {
				hub(w, len(content))
				return
			}
			_, _ = w.Write(content[:1000])
		},
		"a range that is never there": func(w http.ResponseWriter, r *http.Request) {
			hub(w, len(content))
			if r.Method == http.MethodGet {
				w.Header().Set("Content-Length", "0")
				w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			}
		},
		"redirects in a circle": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		},
	} {
		t.Run(name, func(t *testing.T) {
			calls, data, c, err := fetchFrom(t, say)
			if err == nil {
				t.Fatalf("%d bytes were accepted as the file: %.40q", len(data), data)
			}
			if fault.KindOf(err) != fault.Host || fault.HintOf(err) == "" || !strings.Contains(err.Error(), "fetching test.jsonl") {
				t.Errorf("got %v (%v), hint %q; want a Host fault, a hint, with %q",
					err, fault.KindOf(err), fault.HintOf(err), "fetching test.jsonl")
			}
			blobs, _ := filepath.Glob(c.dir("own/set", "*", "*"))
			for _, b := range blobs {
				if filepath.Ext(b) != ".incomplete" {
					t.Errorf("the cache holds %s after %d calls", b, calls)
				}
			}
		})
	}
}

// A server that sends without end must not fill the disk.
func TestADownloadStopsAtTheSizeOfTheFile(t *testing.T) {
	var sent atomic.Int64 // by concurrent requests, which may still run
	_, _, c, err := fetchFrom(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Repo-Commit", commit)
		w.Header().Set("Etag", blobID)
		if r.Method == http.MethodHead {
			w.Header().Set("Content-Length", "100")
			return
		}
		part := make([]byte, 1<<20)
		for n := 0; n < 64; n++ {
			if _, err := w.Write(part); err != nil {
				return
			}
			sent.Add(1)
		}
	})
	if fault.KindOf(err) != fault.Host {
		t.Errorf("got %v, want a Host fault", err)
	}
	if n := sent.Load(); n >= 64 {
		t.Errorf("downloaded %d MiB of a file of 100 bytes", n)
	}
	parts, _ := filepath.Glob(c.dir("own/set", "blobs", "*"))
	for _, p := range parts {
		if info, err := os.Stat(p); err != nil || info.Size() > 1<<10 {
			t.Errorf("%s has %d bytes, %v; want at most %v, no error", p, info.Size(), err, 1<<10)
		}
	}
}

// Mirrors that make etags of time and size give several files the same etag.
func TestFilesWithTheSameEtagAreSeparate(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Repo-Commit", commit)
		w.Header().Set("Etag", `"5f3c-6"`)
		_, _ = w.Write([]byte(filepath.Base(r.URL.Path)))
	}))
	defer srv.Close()
	c := New(Config{Endpoint: srv.URL, CacheDir: t.TempDir()})
	for _, name := range []string{"a.jsonl", "b.jsonl"} {
		path, err := c.Fetch(t.Context(), Snapshot{Repo: "own/set", Commit: commit}, name)
		if err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(path); string(data) != name {
			t.Errorf("%s holds %q, %v; want data %v", name, data, err, name)
		}
	}
}

func TestTheRequestedCommitIsFetched(t *testing.T) {
	s := newStub(t)
	c, _, _ := s.client(t, nil)
	if snap, err := c.Resolve(t.Context(), "own/set", strings.Repeat("f", 40)); fault.KindOf(err) != fault.Host {
		t.Errorf("got %+v, %v; want a Host fault", snap, err)
	}
}

func TestADamagedCachedFileIsNotUsed(t *testing.T) {
	s := newStub(t)
	c, _, log := s.client(t, nil)
	get(t, c)
	blob := c.dir("own/set", "blobs", s.etag())
	cut := func() {
		if err := os.Truncate(blob, int64(len(s.content)/2)); err != nil {
			t.Fatal(err)
		}
	}
	cut()
	if !bytes.Equal(get(t, c), s.content) || !strings.Contains(log.String(), "damaged") {
		t.Errorf("the damaged file was used; log: %s", log)
	}
	cut()
	c.conf.Offline = true
	snap, err := c.Resolve(t.Context(), "own/set", "")
	if err != nil {
		t.Fatal(err)
	}
	if path, err := c.Fetch(t.Context(), snap, file); fault.KindOf(err) != fault.Usage {
		t.Errorf("offline: %q, %v; want a Usage fault", path, err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// stalled is a response body that sends no more data.
type stalled struct{ done <-chan struct{} }

func (s stalled) Read([]byte) (int, error) { <-s.done; return 0, context.Canceled }
func (stalled) Close() error               { return nil }

func TestAStalledDatasetDescriptionTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		c := New(Config{Endpoint: "http://hub.test", CacheDir: dir, HTTP: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: stalled{r.Context().Done()}}, nil
		})}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := c.Resolve(ctx, "own/set", ""); fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), "no data for") {
			t.Errorf("got %v (%v); want a Host fault with %q", err, fault.KindOf(err), "no data for")
		}
	})
}
