package images

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker/cli/cli/config"

	"batch.example/batch/docker/internal/daemon"
)

// A failing credential helper is reported and the pull continues: the image may be public.
func TestAFailingCredentialHelperIsReported(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"credHelpers": {"r.example": "batch-nosuch"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	logger := slog.New(slog.NewTextHandler(&log, nil))
	file, err := config.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := &Store{engine: &daemon.Conn{Log: logger}, login: file}
	for ref, want := range map[string]bool{"r.example/team/thing:1": true, "elsewhere.example/team/thing:1": false} {
		log.Reset()
		name, err := normal(ref)
		if err != nil {
			t.Fatal(err)
		}
		if login := s.credentials(name); login != "" {
			t.Errorf("%s: there is a login, want no login", ref)
		}
		if told := strings.Contains(log.String(), "registry login not used") && strings.Contains(log.String(), "registry=r.example"); told != want {
			t.Errorf("%s: the log says %q, want a report: %v", ref, log.String(), want)
		}
	}
}
