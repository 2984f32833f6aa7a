package otlp

import (
	"bytes"
	"encoding/pem"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// options have variables, without OTEL_EXPORTER_OTLP_, and a log.
func options(log *bytes.Buffer, env map[string]string) Options {
	return Options{
		Getenv:    func(name string) string { return env[strings.TrimPrefix(name, prefix)] },
		Log:       slog.New(slog.NewTextHandler(log, nil)),
		UserAgent: "batch/1.2.3",
	}
}

func TestAddressesAreReadAsOpenTelemetrysExportersReadThem(t *testing.T) {
	for name, c := range map[string]struct {
		env             map[string]string
		traces, metrics string
	}{
		"none":              {nil, "https://localhost:4318/v1/traces", "https://localhost:4318/v1/metrics"},
		"both":              {map[string]string{"ENDPOINT": " http://a:1 "}, "http://a:1/v1/traces", "http://a:1/v1/metrics"},
		"both, with a path": {map[string]string{"ENDPOINT": "https://a/b%20c//d/?q=1#f"}, "https://a/b%20c/d/v1/traces", "https://a/b%20c/d/v1/metrics"},
		"its own":           {map[string]string{"TRACES_ENDPOINT": "https://a/x//", "METRICS_ENDPOINT": "http://b"}, "https://a/x//", "http://b/"},
		"one of its own":    {map[string]string{"ENDPOINT": "http://a", "TRACES_ENDPOINT": "https://b/x"}, "https://b/x", "http://a/v1/metrics"},
		"a password":        {map[string]string{"ENDPOINT": "http://me:secret@a"}, "http://a/v1/traces", "http://a/v1/metrics"},
		"insecure":          {map[string]string{"ENDPOINT": "https://a", "INSECURE": "TRUE"}, "http://a/v1/traces", "http://a/v1/metrics"},
		"insecure for one":  {map[string]string{"TRACES_ENDPOINT": "http://a", "INSECURE": "false", "METRICS_INSECURE": "true"}, "https://a/", "http://localhost:4318/v1/metrics"},
		"not an address":    {map[string]string{"ENDPOINT": "http://a", "METRICS_ENDPOINT": "http://%"}, "http://a/v1/traces", "http://a/v1/metrics"},
	} {
		t.Run(name, func(t *testing.T) {
			for signal, want := range map[string]string{"TRACES": c.traces, "METRICS": c.metrics} {
				s, err := options(&bytes.Buffer{}, c.env).settings(signal)
				if err != nil {
					t.Fatal(err)
				}
				if got := s.url.String(); got != want {
					t.Errorf("%s go to %s, want %s", signal, got, want)
				}
			}
		})
	}
}

func TestTheVariablesOfASignalReplaceTheGeneralOnes(t *testing.T) {
	env := map[string]string{
		"HEADERS": "x-key = a%2Cb , User-Agent=me", "TIMEOUT": "1500", "COMPRESSION": "gzip", "PROTOCOL": "http/json",
		"METRICS_HEADERS": "m=1", "METRICS_TIMEOUT": "20", "METRICS_COMPRESSION": "none", "METRICS_PROTOCOL": "http/protobuf",
	}
	var log bytes.Buffer
	traces, err := options(&log, env).settings("TRACES")
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := options(&log, env).settings("METRICS")
	if err != nil {
		t.Fatal(err)
	}
	wantHeader(t, traces.header, map[string]string{"X-Key": "a,b", "User-Agent": "me", "Content-Type": "application/json", "Content-Encoding": "gzip"})
	wantHeader(t, metrics.header, map[string]string{"M": "1", "User-Agent": "batch/1.2.3", "Content-Type": "application/x-protobuf"})
	if traces.timeout != 1500*time.Millisecond || metrics.timeout != 20*time.Millisecond {
		t.Errorf("timeouts %v, %v; want 1.5s, 20ms", traces.timeout, metrics.timeout)
	}
	if !traces.json || !traces.gzip || metrics.json || metrics.gzip || log.Len() > 0 {
		t.Errorf("traces %+v, metrics %+v, log %s", traces, metrics, &log)
	}
}

func wantHeader(t *testing.T, got http.Header, want map[string]string) {
	t.Helper()
	named := map[string]string{}
	for name := range got {
		named[name] = got.Get(name)
	}
	if !maps.Equal(want, named) {
		t.Errorf("headers (-want +got):\n%s", cmp.Diff(want, named))
	}
}

func TestWhatCannotBeUsedIsIgnoredWithAWarning(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for variable, value := range map[string]string{
		"HEADERS":            "good=1,b d=verysecret,=verysecret,verysecret,x=%zz",
		"TIMEOUT":            "5s",
		"CERTIFICATE":        text,
		"TRACES_CERTIFICATE": "/nonexistent",
		"CLIENT_CERTIFICATE": text,
	} {
		t.Run(variable, func(t *testing.T) {
			var log bytes.Buffer
			s, err := options(&log, map[string]string{variable: value, "CLIENT_KEY": text}).settings("TRACES")
			if err != nil {
				t.Fatal(err)
			}
			if strings.Count(log.String(), "level=WARN") != 1 || !strings.Contains(log.String(), "variable="+prefix+variable+" ") {
				t.Errorf("want one warning about %s:\n%s", variable, &log)
			}
			if strings.Contains(log.String(), "verysecret") {
				t.Errorf("the log has a header's value:\n%s", &log)
			}
			want := map[string]string{"Content-Type": "application/x-protobuf", "User-Agent": "batch/1.2.3"}
			if variable == "HEADERS" {
				want["Good"] = "1"
			}
			wantHeader(t, s.header, want)
			if s.timeout != 10*time.Second || s.tls.RootCAs != nil || s.tls.Certificates != nil {
				t.Errorf("got %+v, want the defaults", s)
			}
		})
	}
}

func TestACertificateNeedsHTTPS(t *testing.T) {
	server := secure(t)
	files := certificateFiles(t, server)
	for _, endpoint := range []string{"http://a", "https://a"} {
		_, err := options(&bytes.Buffer{}, map[string]string{"ENDPOINT": endpoint, "CERTIFICATE": files.certificate}).settings("TRACES")
		if refused := err != nil; refused != strings.HasPrefix(endpoint, "http:") {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
}

type files struct{ certificate, key string }

func writePEM(t *testing.T, kind string, der []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), kind)
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
