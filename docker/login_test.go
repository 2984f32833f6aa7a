package docker

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/fault"
)

func TestLoginsAreReadLikeTheDockerCommand(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		want    string // the user at r.example
		warning bool
	}{
		"logins":  {`{"auths": {"r.example": {"auth": "YW5uOnB3"}}}`, "ann", false},
		"none":    {"{}", "", false},
		"broken":  {`{"auths": `, "", true},
		"missing": {"", "", false},
	} {
		dir := t.TempDir()
		if c.text != "" {
			if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var log strings.Builder
		file := Config{ConfigDir: dir}.loadFile(slog.New(slog.NewTextHandler(&log, nil)))
		if got := file.AuthConfigs["r.example"].Username; got != c.want {
			t.Errorf("%s: user %q, want %q", name, got, c.want)
		}
		if warned := strings.Contains(log.String(), "are not used"); warned != c.warning {
			t.Errorf("%s: the log says %q, want warned %v", name, log.String(), c.warning)
		}
	}
}

func TestAnInvalidImageNameIsRefusedBeforeThePull(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/images/create") {
			t.Errorf("it is pulled: %s, want no %q in the path", r.URL, "/images/create")
		}
		if !strings.HasSuffix(r.URL.Path, "/_ping") {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer s.Close()
	e, err := Connect(t.Context(), Config{Host: "tcp://" + s.Listener.Addr().String(), ConfigDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, ref := range []string{"a/UPPER", "a b", "", "x:", "x@sha256:1"} {
		if img, err := e.Ensure(t.Context(), ref, "", nil); err == nil || fault.KindOf(err) == fault.Unknown {
			t.Errorf("%q: got %+v, %v; want an error, an error with a kind", ref, img, err)
		}
		if img, _, err := e.Image(t.Context(), ref, ""); fault.KindOf(err) == fault.Unknown {
			t.Errorf("%q is looked up: %+v, %v; want an error with a kind", ref, img, err)
		}
	}
}
