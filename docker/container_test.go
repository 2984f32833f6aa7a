package docker_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/client"

	"batch.example/batch/docker"
	"batch.example/batch/docker/containers"
	"batch.example/batch/docker/images"
	"batch.example/batch/fault"
	"batch.example/batch/internal/box"
	"batch.example/batch/sandbox/engine"
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

func TestContainersAreRestrictedByDefault(t *testing.T) {
	t.Parallel()
	e := connect(t)
	c := start(t, e, engine.Spec{Memory: 64 << 20, CPUs: 0.5, Labels: map[string]string{engine.LabelRun: "r"}})
	in, err := raw(t).ContainerInspect(t.Context(), c.ID())
	if err != nil {
		t.Fatal(err)
	}
	h := in.HostConfig
	if h.NetworkMode != "none" || h.Privileged || len(in.Mounts) != 1 || in.Mounts[0].RW || *h.Init || h.Memory != 64<<20 ||
		h.NanoCPUs != 5e8 || *h.PidsLimit != 4096 || strings.Join(h.SecurityOpt, " ") != "no-new-privileges" {
		t.Errorf("host config %+v, want every restriction set", h)
	}
	l := in.Config.Labels
	if l[engine.LabelRun] != "r" || l[containers.LabelOwner] == "" || l[containers.LabelExpires] == "" {
		t.Errorf("labels %v, want l %q, some l", l, "r")
	}
}

func TestCreateLeavesNothingBehindWhenItFails(t *testing.T) {
	t.Parallel()
	e := connect(t)
	label := map[string]string{"batch.test": rand.Text()}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name string
		ctx  context.Context
		spec engine.Spec
		kind fault.Kind
	}{
		{"no image named", t.Context(), engine.Spec{}, fault.Usage},
		{"an image that is not there", t.Context(), engine.Spec{Image: "nosuch.example/x:1"}, fault.Instance},
		{"a platform that is none", t.Context(), engine.Spec{Image: testImage(t), Platform: "x"}, fault.Usage},
		{"too little memory", t.Context(), engine.Spec{Image: testImage(t), Memory: 1}, fault.Usage},
		{"a network that is not there", t.Context(), engine.Spec{Image: testImage(t), Network: "nosuch"}, fault.Usage},
		{"a canceled context", canceled, engine.Spec{Image: testImage(t)}, fault.Unknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.spec.Labels = label
			c, err := e.Create(tt.ctx, tt.spec)
			if err == nil {
				_ = c.Remove(context.Background())
				t.Fatal("got no error from a create that must fail")
			}
			if fault.KindOf(err) != tt.kind {
				t.Errorf("kind %v, want %v: %v", fault.KindOf(err), tt.kind, err)
			}
		})
	}
	if n := labeled(t, raw(t), label); n != 0 {
		t.Errorf("got %d containers left, want 0", n)
	}
}

// labeled returns how many containers have the label.
func labeled(t *testing.T, api *client.Client, label map[string]string) int {
	t.Helper()
	f := filters.NewArgs()
	for name, value := range label {
		f.Add("label", name+"="+value)
	}
	list, err := api.ContainerList(t.Context(), container.ListOptions{All: true, Filters: f})
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func TestARemovedContainerIsAFaultNotAnObservation(t *testing.T) {
	t.Parallel()
	e := connect(t)
	api := raw(t)
	for _, tt := range []struct {
		name string
		end  func(id string) error
	}{
		{"killed", func(id string) error { return api.ContainerKill(context.Background(), id, "KILL") }},
		{"removed", func(id string) error {
			return api.ContainerRemove(context.Background(), id, container.RemoveOptions{Force: true})
		}},
		{"stopped", func(id string) error { return api.ContainerStop(context.Background(), id, container.StopOptions{}) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := start(t, e, engine.Spec{})
			ended := make(chan error, 1)
			go func() {
				awaitFile(t, c, "/tmp/began")
				ended <- tt.end(c.ID())
			}()
			// A removal that is not noticed ends the context of the call.
			r, err := c.Run(soon(t), containers.Command{Script: "echo part; echo >/tmp/began; sleep 600"})
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			if fault.KindOf(err) != fault.Transient {
				t.Errorf("result %+v, error %v (%v); want a Transient fault", r, err, fault.KindOf(err))
			}
			if _, err := c.Run(t.Context(), containers.Command{Script: "true"}); fault.KindOf(err) != fault.Transient {
				t.Errorf("the next command: %v, want a Transient fault", err)
			}
			if _, err := c.CopyOut(t.Context(), "/etc/nosuch"); fault.KindOf(err) == fault.Unknown {
				t.Errorf("copying: %v, want an error with a kind", err)
			}
			for range 2 {
				if err := c.Remove(t.Context()); err != nil {
					t.Errorf("removing the missing container: got error %v", err)
				}
			}
		})
	}
}

func TestACommandKilledForMemoryIsReportedAsSuch(t *testing.T) {
	t.Parallel()
	c := start(t, connect(t), engine.Spec{Memory: 24 << 20})
	r := run(t, c, "x=$(yes | head -c 200000000); echo $?")
	if r.ExitCode != 137 || !r.OOM {
		t.Errorf("exit code %d, out of memory %v, output %.200q; want a kill for memory", r.ExitCode, r.OOM, r.Bytes)
	}
	if r := run(t, c, "echo alive; kill -9 $$"); string(r.Bytes) != "alive\n" {
		t.Errorf("afterwards: %+v, want output %q", r, "alive\n")
	}
}

func TestFilesAreCopiedInAndOutByteForByte(t *testing.T) {
	t.Parallel()
	c := start(t, connect(t), engine.Spec{})
	data := append(bytes.Repeat([]byte("a\r\n\x00\xff"), 300_000), 0)
	if err := c.CopyIn(t.Context(), "/new/dir/file.bin", 0o640, data); err != nil {
		t.Fatal(err)
	}
	if r := run(t, c, "wc -c </new/dir/file.bin; ls -l /new/dir; ln -s ../new/dir/file.bin /tmp/link"); !strings.Contains(string(r.Bytes), "1500001\n") ||
		!strings.Contains(string(r.Bytes), "-rw-r-----") {
		t.Errorf("output %q, want %q in the output, %q in the output", r.Bytes, "1500001\n", "-rw-r-----")
	}
	for _, name := range []string{"/new/dir/file.bin", "/tmp/link"} {
		got, err := c.CopyOut(t.Context(), name)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: got %d bytes, %v; want %q, no error", name, len(got), err, data)
		}
	}
	if _, err := c.CopyOut(t.Context(), "/nosuch"); !errors.Is(err, fs.ErrNotExist) || fault.KindOf(err) != fault.Instance {
		t.Errorf("a missing file: got %v, want fs.ErrNotExist", err)
	}
	run(t, c, "ln -s circle /tmp/circle; echo >/etc/passwd")
	for what, name := range map[string]string{"a directory": "/tmp", "a circle": "/tmp/circle", "a device": "/dev/zero"} {
		if got, err := c.CopyOut(t.Context(), name); got != nil || fault.KindOf(err) != fault.Instance || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: got %d bytes, %v; want no bytes, an Instance fault, an error other than %v",
				what, len(got), err, fs.ErrNotExist)
		}
	}
	if err := c.CopyIn(t.Context(), "/etc/passwd/x", 0o644, nil); fault.KindOf(err) != fault.Instance {
		t.Errorf("below a file: %v, want an Instance fault", err)
	}
	if err := c.CopyIn(t.Context(), "/x", 0o644, make([]byte, box.CopyInLimit+1)); fault.KindOf(err) != fault.Usage {
		t.Errorf("too large: %v, want a Usage fault", err)
	}
	if r := run(t, c, "echo /new/dir/* /x*"); string(r.Bytes) != "/new/dir/file.bin /x*\n" {
		t.Errorf("partial files are left: %s", r.Bytes)
	}
	if err := c.CopyIn(t.Context(), "relative", 0o644, nil); fault.KindOf(err) != fault.Usage {
		t.Errorf("a relative path: %v, want a Usage fault", err)
	}
}

func TestConcurrentCommandsLeaveNothingOpen(t *testing.T) {
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

func TestReapRemovesWhatADeadProcessLeft(t *testing.T) {
	t.Parallel()
	e := connect(t)
	mine := start(t, e, engine.Spec{Labels: map[string]string{engine.LabelRun: "mine", engine.LabelInstance: "i"}})
	api := raw(t)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	self, err := raw(t).ContainerInspect(t.Context(), mine.ID())
	if err != nil {
		t.Fatal(err)
	}
	part := strings.Split(self.Config.Labels[containers.LabelOwner], "/")
	if len(part) != 6 || part[0] != host {
		t.Fatalf("the owner label has the parts %q", part)
	}
	part[4] = strconv.Itoa(1 << 30) // a process id that no system assigns
	other := map[string]string{
		"dead":    strings.Join(part, "/"),
		"foreign": "another-host/another-machine/another-boot/1/1/1",
	}
	ids := map[string]string{}
	for name, owner := range other {
		made, err := api.ContainerCreate(t.Context(), &container.Config{
			Image: testImage(t), Cmd: []string{"true"}, Labels: map[string]string{containers.LabelOwner: owner},
		}, nil, nil, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		ids[name] = made.ID
		t.Cleanup(func() {
			_ = api.ContainerRemove(context.Background(), made.ID, container.RemoveOptions{Force: true})
		})
	}
	removed, err := engine.Reap(t.Context(), docker.Sandboxes{Engine: e}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	all, err := e.Owned(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{}
	for _, s := range all {
		left[s.ID] = true
	}
	// Another process that reaps may have removed them before.
	if left[ids["dead"]] || !left[ids["foreign"]] || !left[mine.ID()] {
		t.Errorf("the containers %v are left, %v were removed", all, removed)
	}
	at := slices.IndexFunc(all, func(s engine.Owned) bool { return s.ID == mine.ID() })
	if at < 0 {
		t.Fatalf("the running container is not among %+v", all)
	}
	if s := all[at]; s.Run != "mine" || s.Instance != "i" || s.Abandoned || s.Expires.IsZero() || s.State != "running" {
		t.Errorf("own container %+v, want run %q, instance %q, abandoned false, a time set, state %q",
			s, "mine", "i", "running")
	}
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

func TestInfoAndDisk(t *testing.T) {
	e := connect(t)
	in, err := e.About(t.Context())
	if err != nil || in.Version == "" || in.APIVersion == "" || in.OS != "linux" || in.CPUs < 1 || in.Memory < 1 || in.RootDir == "" {
		t.Errorf("got %+v, %v; want some version, some apiversion, OS %q, cpus at least 1, memory at least 1, some root dir, no error",
			in, err, "linux")
	}
	free, known, err := e.DiskFree(t.Context())
	if err != nil || (known && free <= 0) {
		t.Errorf("free %d, known %v, %v; want free more than 0 when known, no error", free, known, err)
	}
	img, ok, err := e.Image(t.Context(), "docker.io/library/"+testImage(t), "")
	if err != nil || !ok || img.Size < 1 || img.ID == "" || img.OS != "linux" {
		t.Errorf("got %+v, %v, %v; want ok true, at least 1, some ID, OS %q, no error", img, ok, err, "linux")
	}
	list, err := e.Images(t.Context())
	at := slices.IndexFunc(list, func(i images.Image) bool { return i.ID == img.ID })
	if err != nil || at < 0 || list[at].Size < 1 {
		t.Errorf("got %v, %v; want the image, of at least 1 byte, no error", list, err)
	}
}
