package hub

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"batch.example/batch/fault"
)

const (
	commit = "0123456789abcdef0123456789abcdef01234567"
	token  = "hf_secretsecret"
	file   = "data/test-00000-of-00001.parquet"
)

// stub is a hub on loopback, with its large files on another host.
type stub struct {
	*httptest.Server
	cdn     *httptest.Server
	content []byte

	mu     sync.Mutex
	calls  []string // "<server> <method> <path> <range>"
	leaked bool     // the token reached the other host
	fail   func(r *http.Request, n int) int
	cut    int // bytes after which the next downloads break
	cuts   int // how many downloads break
	header http.Header
}

func newStub(t *testing.T) *stub {
	t.Helper()
	s := &stub{content: bytes.Repeat([]byte("0123456789\r\n\xff"), 50_000), header: http.Header{}}
	s.cdn = httptest.NewServer(http.HandlerFunc(s.blob))
	s.Server = httptest.NewServer(http.HandlerFunc(s.api))
	t.Cleanup(s.cdn.Close)
	t.Cleanup(s.Close)
	return s
}

func (s *stub) etag() string {
	sum := sha256.Sum256(s.content)
	return hex.EncodeToString(sum[:])
}

func (s *stub) note(server string, r *http.Request) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, strings.TrimSpace(server+" "+r.Method+" "+r.URL.EscapedPath()+" "+r.Header.Get("Range")))
	if server == "cdn" && r.Header.Get("Authorization") != "" {
		s.leaked = true
	}
	if s.fail != nil {
		return s.fail(r, len(s.calls))
	}
	return 0
}

func (s *stub) api(w http.ResponseWriter, r *http.Request) {
	if code := s.note("hub", r); code != 0 {
		for k, v := range s.header {
			w.Header()[k] = v
		}
		w.WriteHeader(code)
		return
	}
	switch {
	case strings.HasPrefix(r.URL.Path, "/api/datasets/own/set/revision/"):
		fmt.Fprintf(w, `{"id":"own/set","sha":%q,"siblings":[{"rfilename":"README.md"},{"rfilename":%q}]}`, commit, file)
	case r.URL.Path == "/api/datasets/old/set/revision/main":
		http.Redirect(w, r, "/api/datasets/own/set/revision/main", http.StatusTemporaryRedirect)
	case r.URL.Path == "/datasets/own/set/resolve/"+commit+"/"+file:
		w.Header().Set("X-Repo-Commit", commit)
		w.Header().Set("X-Linked-Etag", `"`+s.etag()+`"`)
		w.Header().Set("X-Linked-Size", fmt.Sprint(len(s.content)))
		http.Redirect(w, r, s.cdn.URL+"/blob?signature=topsecret", http.StatusFound)
	default:
		w.Header().Set("X-Error-Code", "RepoNotFound")
		w.WriteHeader(http.StatusNotFound)
	}
}

func (s *stub) blob(w http.ResponseWriter, r *http.Request) {
	if code := s.note("cdn", r); code != 0 {
		w.WriteHeader(code)
		return
	}
	s.mu.Lock()
	broken := r.Method == http.MethodGet && s.cuts > 0
	if broken {
		s.cuts--
	}
	s.mu.Unlock()
	if !broken {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(s.content))
		return
	}
	start := 0
	fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &start)
	w.Header().Set("Content-Length", fmt.Sprint(len(s.content)-start))
	if start > 0 {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", start, len(s.content)-1, len(s.content)))
		w.WriteHeader(http.StatusPartialContent)
	}
	w.Write(s.content[start : start+s.cut])
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

// client returns a client of the stub. Its waits are recorded and take no time.
func (s *stub) client(t *testing.T, change func(*Config)) (c *Client, waits *[]time.Duration, log *bytes.Buffer) {
	t.Helper()
	log, waits = &bytes.Buffer{}, &[]time.Duration{}
	conf := Config{
		Endpoint: s.URL, Token: token, CacheDir: filepath.Join(t.TempDir(), "hub"),
		Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&conf)
	}
	c = New(conf)
	c.pause = func(ctx context.Context, d time.Duration) error {
		*waits = append(*waits, d)
		return ctx.Err()
	}
	t.Cleanup(func() {
		if s.leaked {
			t.Error("the token went to another host")
		}
		if strings.Contains(log.String(), token) || strings.Contains(log.String(), "topsecret") {
			t.Error("a secret is in the log")
		}
	})
	return c, waits, log
}

func get(t *testing.T, c *Client) []byte {
	t.Helper()
	snap, err := c.Resolve(t.Context(), "own/set", "")
	if err != nil {
		t.Fatal(err)
	}
	path, err := c.Fetch(t.Context(), snap, file)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestFaultKindsOfHubAnswers(t *testing.T) {
	for _, c := range []struct {
		name, repo string
		code       int
		reason     string
		kind       fault.Kind
		hint       string
		tries      int
	}{
		{"a dataset that is not there", "no/set", 0, "", fault.Usage, "no such dataset", 1},
		{"a gated one", "own/set", 403, "GatedRepo", fault.Usage, "accept its terms", 1},
		{"a gated one without a login", "own/set", 401, "GatedRepo", fault.Usage, "accept its terms", 1},
		{"a bad token", "own/set", 401, "", fault.Usage, "token in HF_TOKEN is not accepted", 1},
		{"a revision that is not there", "own/set", 404, "RevisionNotFound", fault.Usage, "no revision main", 1},
		{"a hub that is down", "own/set", 503, "", fault.Host, "HF_HUB_OFFLINE", maxTries},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStub(t)
			s.fail = func(*http.Request, int) int { return c.code }
			s.header.Set("X-Error-Code", c.reason)
			cl, _, _ := s.client(t, nil)
			_, err := cl.Resolve(t.Context(), c.repo, "")
			if fault.KindOf(err) != c.kind || !strings.Contains(fault.HintOf(err), c.hint) {
				t.Errorf("got %v (%v), hint %q; want fault kind %v, %q",
					err, fault.KindOf(err), fault.HintOf(err), c.kind, c.hint)
			}
			if strings.Contains(fmt.Sprintf("%+v", err)+fault.HintOf(err), token) {
				t.Error("the token is in the error")
			}
			if len(s.calls) != c.tries {
				t.Errorf("%d calls, want %d", len(s.calls), c.tries)
			}
		})
	}
}

func TestTooManyRequestsWaitsAsAsked(t *testing.T) {
	s := newStub(t)
	s.header.Set("Retry-After", "37")
	s.fail = func(_ *http.Request, n int) int {
		if n <= 2 {
			return http.StatusTooManyRequests
		}
		return 0
	}
	c, waits, _ := s.client(t, nil)
	get(t, c)
	if len(*waits) != 2 || (*waits)[0] != 37*time.Second {
		t.Errorf("waited %v, want twice 37s", *waits)
	}
}

func TestRenamedDatasetIsFollowed(t *testing.T) {
	s := newStub(t)
	c, _, _ := s.client(t, nil)
	snap, err := c.Resolve(t.Context(), "old/set", "")
	if err != nil || snap.Commit != commit {
		t.Fatalf("got %+v, %v; want commit %v, no error", snap, err, commit)
	}
}

func TestARevisionWithASlashIsOnePathElement(t *testing.T) {
	s := newStub(t)
	c, _, _ := s.client(t, nil)
	if _, err := c.Resolve(t.Context(), "own/set", "refs/pr/1"); err != nil {
		t.Fatal(err)
	}
	if want := "hub GET /api/datasets/own/set/revision/refs%2Fpr%2F1"; s.calls[0] != want {
		t.Errorf("asked %s, want %s", s.calls[0], want)
	}
}

func TestOfflineReadsTheCacheOnly(t *testing.T) {
	s := newStub(t)
	c, _, _ := s.client(t, nil)
	get(t, c)
	calls := len(s.calls)
	c.conf.Offline = true
	if !bytes.Equal(get(t, c), s.content) {
		t.Error("the cached content differs from the served one")
	}
	_, err := c.Resolve(t.Context(), "own/other", "")
	if fault.KindOf(err) != fault.Usage || !strings.Contains(fault.HintOf(err), "HF_HUB_OFFLINE") {
		t.Errorf("got %v, hint %q; want a Usage fault, %q", err, fault.HintOf(err), "HF_HUB_OFFLINE")
	}
	if len(s.calls) != calls {
		t.Errorf("offline, but called %v, want %v calls", s.calls[calls:], calls)
	}
}

func TestNoNetworkFallsBackToTheCache(t *testing.T) {
	s := newStub(t)
	c, waits, log := s.client(t, nil)
	get(t, c)
	s.Close()
	if !bytes.Equal(get(t, c), s.content) || !strings.Contains(log.String(), "using the cached copy") {
		t.Errorf("log: %s, want the content %q and a log with %q", log, s.content, "using the cached copy")
	}
	*waits = nil
	_, err := c.Resolve(t.Context(), "own/other", "")
	if fault.KindOf(err) != fault.Host || !strings.Contains(fault.HintOf(err), "HF_ENDPOINT") || len(*waits) != maxTries-1 {
		t.Errorf("got %v, hint %q after %v; want a Host fault, %q in the hint, %d waits",
			err, fault.HintOf(err), *waits, "HF_ENDPOINT", maxTries-1)
	}
}

func TestFromEnv(t *testing.T) {
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, "hf"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "hf", "token"), []byte("filed\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(vars map[string]string) Config { return FromEnv(func(k string) string { return vars[k] }, home) }
	if c := env(nil); c.CacheDir != filepath.Join(home, ".cache", "huggingface", "hub") || c.Token != "" || c.Offline {
		t.Errorf("default: %+v, want cache dir %v, no token, offline false",
			c, filepath.Join(home, ".cache", "huggingface", "hub"))
	}
	c := env(map[string]string{"HF_HOME": "~/hf", "HF_HUB_OFFLINE": "1", "HF_ENDPOINT": "http://x"})
	if c.CacheDir != filepath.Join(home, "hf", "hub") || c.Token != "filed" || !c.Offline || c.Endpoint != "http://x" {
		t.Errorf("HF_HOME: %+v with token %q", c, c.Token)
	}
	c = env(map[string]string{"HF_TOKEN": token, "HF_HUB_CACHE": "/c"})
	if c.Token != token || c.CacheDir != "/c" {
		t.Errorf("HF_TOKEN: %+v, want token %v, cache dir %q", c, token, "/c")
	}
	for _, text := range []string{fmt.Sprintf("%v %+v %#v %s", c, c, c, c), fmt.Sprintf("%+v", struct{ C Config }{c}), fmt.Sprint(slog.Any("c", c).Value.Resolve())} {
		if strings.Contains(text, token) {
			t.Errorf("the token is printed: %s", text)
		}
	}
}
