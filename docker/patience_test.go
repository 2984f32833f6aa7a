package docker

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"batch.example/batch/fault"
)

// What takes an engine with large images long is waited for longer; a registry
// has another end.
func TestACallsLimitIsThatOfItsKind(t *testing.T) {
	for call, want := range map[[2]string]time.Duration{
		{http.MethodHead, "/_ping"}:                     10 * time.Second,
		{http.MethodPost, "/v1.41/images/create"}:       endless,
		{http.MethodGet, "/v1.41/events"}:               endless,
		{http.MethodPut, "/v1.41/containers/a/archive"}: 5 * time.Minute,
		{http.MethodGet, "/v1.41/containers/a/archive"}: time.Minute,
		{http.MethodDelete, "/v1.41/images/a"}:          5 * time.Minute,
		{http.MethodGet, "/v1.41/images/a/json"}:        time.Minute,
		{http.MethodGet, "/v1.41/images/a/history"}:     time.Minute,
		{http.MethodGet, "/v1.41/images/json"}:          5 * time.Minute,
		{http.MethodDelete, "/v1.41/containers/a"}:      30 * time.Second,
		{http.MethodGet, "/v1.41/containers/json"}:      time.Minute,
		{http.MethodPost, "/v1.41/containers/create"}:   time.Minute,
		{http.MethodPost, "/v1.41/containers/a/exec"}:   time.Minute,
		{http.MethodPost, "/v1.41/exec/a/start"}:        time.Minute,
	} {
		if got := limitOf(call[0], call[1]); got != want {
			t.Errorf("%s %s has %v, want %v", call[0], call[1], got, want)
		}
	}
}

func TestCertificatesThatAreNoneAreTheCallersFault(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"a folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"a text":   func(path string) error { return os.WriteFile(path, []byte("no certificate"), 0o600) },
	} {
		for _, file := range []string{"ca.pem", "cert.pem"} {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "key.pem"), []byte("no key"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := spoil(filepath.Join(dir, file)); err != nil {
				t.Fatal(err)
			}
			e, err := Connect(t.Context(), Config{Host: "tcp://127.0.0.1:1", CertPath: dir, TLSVerify: true, ConfigDir: t.TempDir()})
			if fault.KindOf(err) != fault.Usage || !strings.Contains(fault.HintOf(err), "check DOCKER_CERT_PATH") {
				t.Errorf("%s is %s: %v, hint %q", file, name, err, fault.HintOf(err))
			}
			if e != nil {
				t.Errorf("%s is %s: there is an engine", file, name)
			}
		}
	}
}
