package docker_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/client"

	"batch.example/batch/docker"
	"batch.example/batch/docker/containers"
	"batch.example/batch/fault"
	"batch.example/batch/internal/tier"
	"batch.example/batch/sandbox/engine"
	conformance "batch.example/batch/sandbox/engine/enginetest"
)

// raw is a client of the engine that bypasses this package.
func raw(t testing.TB) *client.Client {
	t.Helper()
	api, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.Close() })
	return api
}

func TestConcurrentCommandsLeaveNothingOpen(t *testing.T) {
	tier.Rest(t)
	e := connect(t)
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	c := start(t, e, engine.Spec{})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 3 {
				cmd := containers.Command{Script: "echo a; sleep 0.1 & echo b >&2", Timeout: time.Minute}
				if i == 0 {
					cmd = containers.Command{Script: "sleep 60", Timeout: 50 * time.Millisecond}
				}
				r, err := c.Run(t.Context(), cmd)
				if err != nil || r.TimedOut != (i == 0) || (i > 0 && string(r.Bytes) != "a\nb\n") {
					t.Errorf("got %+v, %v; want timed out %v, output %q of those not timed out, no error", r, err, (i == 0), "a\nb\n")
				}
			}
		})
	}
	wg.Wait()
	if err := c.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(enough)
	for (runtime.NumGoroutine() > goroutines+12 || openFiles(t) > files+6) && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond) // the client keeps a few idle connections
	}
	if g, f := runtime.NumGoroutine(), openFiles(t); g > goroutines+12 || f > files+6 {
		t.Errorf("%d goroutines and %d files are left, want %d and %d as before", g, f, goroutines, files)
	}
}

func openFiles(t testing.TB) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(list)
}

func TestConnectErrorsGiveHints(t *testing.T) {
	stale := filepath.Join(t.TempDir(), "s")
	for _, tt := range []struct {
		name string
		c    docker.Config
		kind fault.Kind
		hint string
	}{
		{"no socket", docker.Config{Host: "unix://" + stale}, fault.Host, "install Docker"},
		{"nothing listens", docker.Config{Host: "tcp://127.0.0.1:1"}, fault.Host, "nothing listens"},
		{"no scheme", docker.Config{Host: "localhost"}, fault.Usage, "unix:///path"},
		{"a context that is not there", docker.Config{Context: "nosuch", ConfigDir: t.TempDir()}, fault.Usage, "docker context ls"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, err := docker.Connect(t.Context(), tt.c)
			if err == nil {
				_ = e.Close()
				t.Fatal("got no error from a connection that must fail")
			}
			if fault.KindOf(err) != tt.kind || !strings.Contains(fault.HintOf(err), tt.hint) {
				t.Errorf("got a fault of kind %v: %v; hint %q; want fault kind %v, %q",
					fault.KindOf(err), err, fault.HintOf(err), tt.kind, tt.hint)
			}
		})
	}
}

// An engine on this machine tells how much of its disk is free.
func TestTheFreeDiskIsKnownOrSaidNotToBe(t *testing.T) {
	free, known, err := connect(t).DiskFree(t.Context())
	if err != nil || known && free <= 0 {
		t.Errorf("free %d, known %v, %v; want free more than 0 when known, no error", free, known, err)
	}
}

func TestFilesAreCopiedOutByteForByte(t *testing.T) {
	t.Parallel()
	c := start(t, connect(t), engine.Spec{})
	data := append(bytes.Repeat([]byte("a\r\n\x00\xff"), 300_000), 0)
	if err := c.CopyIn(t.Context(), "/new/file.bin", 0o640, data); err != nil {
		t.Fatal(err)
	}
	run(t, c, "ln -s ../new/file.bin /tmp/link; ln -s circle /tmp/circle")
	for _, name := range []string{"/new/file.bin", "/tmp/link"} {
		if got, err := c.CopyOut(t.Context(), name); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: got %d other bytes, %v", name, len(got), err)
		}
	}
	for name, absent := range map[string]bool{"/nosuch": true, "/tmp": false, "/tmp/circle": false, "/dev/zero": false} {
		if _, err := c.CopyOut(t.Context(), name); fault.KindOf(err) != fault.Instance || errors.Is(err, fs.ErrNotExist) != absent {
			t.Errorf("%s: got %v; want an Instance fault, that it is not there: %v", name, err, absent)
		}
	}
}

func TestCreateReportsInvalidSettings(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	e := connect(t)
	for _, tt := range []struct {
		name string
		spec engine.Spec
		kind fault.Kind
		hint string
	}{
		{"a user that is not there", engine.Spec{User: "nope"}, fault.Instance, "--user"},
		{"a group that is not there", engine.Spec{User: "0:nope"}, fault.Instance, "--user"},
		{"too many CPUs", engine.Spec{CPUs: 100_000}, fault.Usage, "--cpus"},
		{"a capability that is none", engine.Spec{CapAdd: []string{"NOPE"}}, fault.Usage, "capabilit"},
		{"a network that is not there", engine.Spec{Network: "nosuch"}, fault.Usage, "docker network ls"},
		{"a directory that the image lacks", engine.Spec{WorkDir: "/no such/dir"}, fault.Instance, "environment.cwd"},
		{"a platform that is none", engine.Spec{Platform: "x"}, fault.Usage, ""},
		{"too little memory", engine.Spec{Memory: 1}, fault.Usage, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.spec.Image, tt.spec.Unattended = testImage(t), time.Minute
			c, err := e.Create(t.Context(), tt.spec)
			if err == nil {
				_ = c.Remove(context.Background())
			}
			if fault.KindOf(err) != tt.kind || !strings.Contains(fault.HintOf(err), tt.hint) {
				t.Errorf("%v, want %v: %v; hint %q", fault.KindOf(err), tt.kind, err, fault.HintOf(err))
			}
		})
	}
}

func TestAnImageWhoseBashWarnsAtStartIsUsable(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	e := connect(t)
	for _, tt := range []struct{ name, env, warning string }{
		{"a locale that is not installed", "LC_ALL=en_US.UTF-8", "setlocale"},
		{"a library that is not there", "LD_PRELOAD=/nosuch.so", "ld.so"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := start(t, e, engine.Spec{Env: []string{tt.env}})
			for _, cmd := range []containers.Command{{Ahead: true}, {Ahead: true}, {Fresh: true}} {
				cmd.Script = "echo marker"
				r := runCommand(t, c, cmd)
				if n := strings.Count(string(r.Bytes), tt.warning); n != 1 || !strings.HasSuffix(string(r.Bytes), "marker\n") {
					t.Errorf("%d warnings, want the one of the command's own bash: %q", n, r.Bytes)
				}
			}
			quiet := runCommand(t, c, containers.Command{Args: []string{"echo"}, Script: "marker", Env: []string{"LD_PRELOAD="}})
			if string(quiet.Bytes) != "marker\n" {
				t.Errorf("unexpected output of a bash that does not warn: %q", quiet.Bytes)
			}
			run(t, c, "nohup sleep 600 >/dev/null 2>&1 &")
			if r := runCommand(t, c, containers.Command{Script: "sleep 601", Timeout: 300 * time.Millisecond}); !r.TimedOut {
				t.Errorf("result %+v, want timed out true", r)
			}
			if left := processes(t, c); len(left) != 1 {
				t.Errorf("the container was restarted, or the killer failed: %q", left)
			}
		})
	}
}

// Above its disk limit, a container loses its programs as it does its commands.
func TestClearingAContainerEndsItsPrograms(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	c := start(t, connect(t), engine.Spec{})
	s := stream(t, c, containers.Program{Name: "long", Args: []string{"bash", "-c", "echo up; sleep 765123"}})
	if line, err := bufio.NewReader(s).ReadString('\n'); line != "up\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	if err := c.Clear(t.Context(), "clearing"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(s); err != nil {
		t.Error(err)
	}
	if code, ended := s.Exit(); code != 137 || !ended {
		t.Errorf("exit code %d, %v; want 137", code, ended)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	next := stream(t, c, containers.Program{Name: "long", Args: []string{"echo", "on"}})
	if said, err := io.ReadAll(next); string(said) != "on\n" || err != nil {
		t.Errorf("the next program: %q, %v", said, err)
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	t.Cleanup(func() { // connected only here: the suite runs this test again in processes that it kills
		e, err := docker.Connect(context.Background(), docker.FromEnv(os.Getenv, ""))
		if err != nil { // without an engine, there is nothing to remove
			return
		}
		defer e.Close()
		if _, err := e.RemoveFiles(context.Background()); err != nil {
			t.Error(err)
		}
	})
	conformance.Run(t, conformance.Options{
		Open:   func(t testing.TB, dir string) engine.Engine { return docker.Sandboxes{Engine: connectFrom(t, dir)} },
		Image:  testImage,
		Limits: true,
	})
}
