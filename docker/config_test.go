package docker_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/docker"
	"batch.example/batch/docker/containers"
	"batch.example/batch/fault"
	"batch.example/batch/sandbox/engine"
)

func TestFromEnvReadsTheDockerCommandsVariables(t *testing.T) {
	env := map[string]string{
		"DOCKER_HOST": "tcp://h:1", "DOCKER_CONTEXT": "c", "DOCKER_API_VERSION": "1.41", "DOCKER_CERT_PATH": "/certs",
		"DOCKER_TLS_VERIFY": "1",
	}
	got := docker.FromEnv(func(k string) string { return env[k] }, "/home/ann")
	want := docker.Config{
		Host: "tcp://h:1", Context: "c", ConfigDir: "/home/ann/.docker", APIVersion: "1.41", CertPath: "/certs", TLSVerify: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	env["DOCKER_CONFIG"] = "/elsewhere"
	if got := docker.FromEnv(func(k string) string { return env[k] }, "/home/ann"); got.ConfigDir != "/elsewhere" {
		t.Errorf("config dir %q, want config dir %q", got.ConfigDir, "/elsewhere")
	}
}

// relay passes connections on to the engine until it is cut.
type relay struct {
	path string
	l    net.Listener
	mu   sync.Mutex
	open []net.Conn
	wg   sync.WaitGroup
}

func newRelay(t *testing.T, to string) *relay {
	t.Helper()
	r := &relay{path: filepath.Join(t.TempDir(), "engine.sock")}
	l, err := net.Listen("unix", r.path)
	if err != nil {
		t.Fatal(err)
	}
	r.l = l
	r.wg.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("unix", to)
			if err != nil {
				_ = in.Close()
				return
			}
			r.mu.Lock()
			r.open = append(r.open, in, out)
			r.mu.Unlock()
			r.wg.Go(func() { _, _ = io.Copy(out, in); _ = out.(*net.UnixConn).CloseWrite() })
			r.wg.Go(func() { _, _ = io.Copy(in, out); _ = in.Close() })
		}
	})
	t.Cleanup(r.cut)
	return r
}

// cut simulates an engine that dies.
func (r *relay) cut() {
	_ = r.l.Close()
	r.mu.Lock()
	for _, c := range r.open {
		_ = c.Close()
	}
	r.mu.Unlock()
	r.wg.Wait()
}

func TestTheEngineOfADockerContextIsUsedAndWaitedFor(t *testing.T) {
	t.Parallel()
	direct := connect(t)
	socket, ok := strings.CutPrefix(direct.Host(), "unix://")
	if !ok {
		t.Skip("the engine is not at a socket")
	}
	r := newRelay(t, socket)
	dir := t.TempDir()
	meta := filepath.Join(dir, "contexts", "meta", fmt.Sprintf("%x", sha256.Sum256([]byte("relay"))))
	if err := os.MkdirAll(meta, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		filepath.Join(meta, "meta.json"): `{"Name":"relay","Metadata":{},"Endpoints":{"docker":{"Host":"unix://` +
			r.path + `","SkipTLSVerify":false}}}`,
		filepath.Join(dir, "config.json"): `{"currentContext":"relay"}`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e, err := docker.Connect(t.Context(), docker.Config{ConfigDir: dir, Patience: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if e.Host() != "unix://"+r.path {
		t.Errorf("host %s, want host %v", e.Host(), "unix://"+r.path)
	}
	made := start(t, direct, engine.Spec{})
	c, err := e.Attach(t.Context(), made.ID())
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		awaitFile(t, made, "/tmp/began")
		r.cut()
	}()
	// An outage that is not noticed ends the context of the call.
	_, err = c.Run(soon(t), containers.Command{Script: "echo >/tmp/began; sleep 600"})
	if fault.KindOf(err) != fault.Host || fault.HintOf(err) == "" {
		t.Errorf("got a fault of kind %v: %v, want a Host fault, a hint", fault.KindOf(err), err)
	}
	if err := c.Remove(t.Context()); fault.KindOf(err) != fault.Host {
		t.Errorf("removing: %v, want a Host fault", err)
	}
}
