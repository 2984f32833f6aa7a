package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker/cli/cli/config"
	"github.com/google/go-cmp/cmp"

	"batch.example/batch/docker/internal/daemon"
	"batch.example/batch/fault"
	cache "batch.example/batch/sandbox/images"
)

func TestBlamePullReadsTheMessageAndNotTheName(t *testing.T) {
	const ref = "docker.io/team/no-such-host-timeout:1"
	for text, want := range map[string]struct {
		kind fault.Kind
		why  pullFailure
	}{
		"manifest for team/no-such-host-timeout:1 not found: manifest unknown":                   {fault.Instance, pullRefused},
		"pull access denied for team/no-such-host-timeout, repository does not exist":            {fault.Instance, pullRefused},
		"toomanyrequests: You have reached your unauthenticated pull rate limit":                 {fault.Transient, pullLimited},
		"unexpected status from HEAD request to https://r/v2/x: 429 Too Many Requests":           {fault.Transient, pullLimited},
		"write /var/lib/docker/tmp/x: no space left on device":                                   {fault.Host, pullRefused},
		"received unexpected HTTP status: 502 Bad Gateway":                                       {fault.Transient, pullBroken},
		"no matching manifest for linux/amd64 in the manifest list entries":                      {fault.Instance, pullRefused},
		"Get \"https://registry-1.docker.io/v2/\": dial tcp: lookup registry-1: no such host":    {fault.Transient, pullBroken},
		"error from registry: denied\ndenied":                                                    {fault.Instance, pullRefused},
		"docker.io/library/x:1: no match for platform in manifest: not found":                    {fault.Instance, pullRefused},
		"something that was never seen before":                                                   {fault.Transient, pullRefused},
		"Head \"https://r/v2/x/manifests/1\": unauthorized: incorrect username or password":      {fault.Instance, pullRefused},
		"net/http: request canceled while waiting for connection (Client.Timeout exceeded)":      {fault.Transient, pullBroken},
		"image with reference x was found but does not match the specified platform: wanted arm": {fault.Instance, pullRefused},
		"Head \"https://r/v2/x/manifests/1\": EOF":                                               {fault.Transient, pullBroken},
		"dial tcp 192.0.2.1:443: connect: connection timed out":                                  {fault.Transient, pullBroken},
		"dial tcp 192.0.2.1:443: connect: no route to host":                                      {fault.Transient, pullBroken},
		"dial tcp: lookup r: Temporary failure in name resolution":                               {fault.Transient, pullBroken},
		"failed commit on ref \"layer-sha256:1\": unexpected commit digest sha256:2, expected":   {fault.Transient, pullBroken},
		"failed commit on ref \"x\": \"x\" failed size validation: 10 != 20":                     {fault.Transient, pullBroken},
		"http2: server sent GOAWAY and closed the connection":                                    {fault.Transient, pullBroken},
	} {
		t.Run(text, func(t *testing.T) {
			if got := fault.KindOf(blamePull(errors.New(text), ref)); got != want.kind {
				t.Errorf("kind %v, want %v", got, want.kind)
			}
			if got := pullFailureOf(errors.New(text), ref); got != want.why {
				t.Errorf("failure %v, want %v", got, want.why)
			}
		})
	}
}

func TestAFailedPullSaysHowToGetTheImage(t *testing.T) {
	const lookup = `Get "https://registry-1.docker.io/v2/": dial tcp: lookup registry-1.docker.io: no such host`
	for _, tt := range []struct{ ref, text, want, hint string }{
		{"docker.io/library/calc-dataset:latest", lookup, "image calc-dataset is not on this engine and could not be pulled: Get ", "build it: `docker build -t calc-dataset .`"},
		{"docker.io/library/calc:2", "pull access denied for calc", "image calc:2 is not on this engine", "docker build -t calc:2 ."},
		{"docker.io/library/calc:2", "x509: certificate signed by unknown authority", "image calc:2 is not on this engine", "docker build -t calc:2 ."},
		{"docker.io/library/calc:2", "toomanyrequests", "image calc:2 is not on this engine", "the registry limits pulls"},
		{"docker.io/library/calc:2", "no space left on device", "image calc:2 is not on this engine", daemon.NoSpaceHint},
		{"docker.io/library/python:3.12", lookup, "image python:3.12 is not on this engine", "run the same command again"},
		{"docker.io/team/calc:latest", "manifest unknown", "image team/calc is not on this engine", "check the image name"},
		{"r.example/calc:latest", "manifest unknown", "image r.example/calc is not on this engine", "check the image name"},
	} {
		err := blamePull(errors.New(tt.text), tt.ref)
		if !strings.HasPrefix(err.Error(), tt.want) || !strings.Contains(fault.HintOf(err), tt.hint) {
			t.Errorf("%s: got %s: %v; want beginning with %q, %q\n%s", tt.ref, tt.text, err, tt.want, tt.hint, fault.HintOf(err))
		}
	}
}

// An error with more than a text is not judged by these words.
func TestBlamePullReadsTheTextOfUnknownErrors(t *testing.T) {
	const words = "pull access denied"
	for want, err := range map[fault.Kind]error{
		fault.Unknown:   fmt.Errorf("%s: %w", words, context.Canceled),
		fault.Host:      fault.Newf(fault.Host, words),
		fault.Transient: fmt.Errorf("%s: %w", words, io.ErrUnexpectedEOF), // the engine stopped
	} {
		if got := blamePull(err, "docker.io/team/thing:1"); fault.KindOf(got) != want || !errors.Is(got, err) && want != fault.Unknown {
			t.Errorf("%v is %v: %v; want fault kind %v, and the cause kept unless it is %v",
				err, fault.KindOf(got), got, want, fault.Unknown)
		}
	}
}

func nothing() {}

func TestProgressIsReportedOnlyWhenItChanges(t *testing.T) {
	for _, tt := range []struct {
		name, stream string
		want         int
	}{
		{"layers that come", `{"status":"Downloading","id":"a","progressDetail":{"current":5,"total":10}}
{"status":"Downloading","id":"b","progressDetail":{"current":5,"total":10}}
{"status":"Downloading","id":"a","progressDetail":{"current":6,"total":10}}
{"status":"Extracting","id":"a","progressDetail":{"current":6,"total":10}}`, 4},
		{"an engine that repeats itself", `{"status":"Downloading","id":"a","progressDetail":{"current":5,"total":10}}
{"status":"Waiting","id":"b"}
{"status":"Downloading","id":"a","progressDetail":{"current":5,"total":10}}
{"status":"Waiting","id":"b"}`, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			news := 0
			err := follow(strings.NewReader(tt.stream), func(cache.Progress) {}, func() { news++ })
			if err != nil || news != tt.want {
				t.Errorf("%d times news, want %d; %v", news, tt.want, err)
			}
		})
	}
}

func TestFollowAddsUpLayers(t *testing.T) {
	const stream = `{"status":"Pulling from team/thing","id":"1"}
{"status":"Already exists","id":"a"}
{"status":"Pulling fs layer","id":"b"}{"status":"Pulling fs layer","id":"c"}
{"status":"Downloading","id":"b","progressDetail":{"current":5,"total":10}}
{"status":"Download complete","id":"b"}
{"status":"Downloading","id":"c","progressDetail":{"current":7,"total":30}}
{"status":"Pull complete","id":"b"}
{"status":"Digest: sha256:0"}`
	var last cache.Progress
	if err := follow(strings.NewReader(stream), func(p cache.Progress) { last = p }, nothing); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(cache.Progress{Current: 17, Total: 40}, last); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	err := follow(strings.NewReader(stream+`{"errorDetail":{"message":"boom"},"error":"boom"}`), func(cache.Progress) {}, nothing)
	if err == nil || err.Error() != "boom" {
		t.Errorf("error %v, want an error, error %q", err, "boom")
	}
	if err := follow(strings.NewReader(stream[:40]), func(cache.Progress) {}, nothing); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("an interrupted stream: got error %v", err)
	}
}

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
