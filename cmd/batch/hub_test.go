package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Each command that reads a dataset reports waits for the hub, and that a dataset
// may be an old one.
func TestWaitsForTheHubAreReported(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	calls := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Repo-Commit", commit)
		w.Header().Set("Etag", `"00112233445566778899aabbccddeeff00112233"`)
		switch calls++; {
		case calls == 1:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		case strings.HasPrefix(r.URL.Path, "/api/"):
			_, _ = fmt.Fprintf(w, `{"sha":%q,"siblings":[{"rfilename":"test.jsonl"}]}`, commit)
		default:
			_, _ = w.Write([]byte(`{"instance_id": "a", "problem_statement": "p"}`))
		}
	}))
	defer srv.Close()
	for name, value := range map[string]string{
		"HF_ENDPOINT": srv.URL, "HF_HUB_CACHE": t.TempDir(), "HF_HUB_OFFLINE": "", "HF_TOKEN": "", "HF_HOME": t.TempDir(),
	} {
		t.Setenv(name, value)
	}
	read := func(args ...string) string {
		t.Helper()
		var out, diag bytes.Buffer
		if code := program(append(args, "--subset", "own/set"), strings.NewReader(""), &out, &diag); code != exitOK {
			t.Errorf("%q: exit code %d, %s; want exit code %v", args, code, &diag, exitOK)
		}
		return diag.String()
	}
	if said := read("dataset"); !strings.HasPrefix(said, "batch: warning: a request to the hub failed; trying again (after 1") || !strings.Contains(said, "429") {
		t.Errorf("the wait is not reported: %q", said)
	}
	srv.Close()
	for _, args := range [][]string{{"dataset"}, {"run", "--dry-run", "-m", "noop"}} {
		if said := read(args...); !strings.Contains(said, "using the cached copy") {
			t.Errorf("%q: the cached copy is not reported: %q", args, said)
		}
	}
}
