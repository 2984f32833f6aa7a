package docker_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/client"
	"github.com/google/go-cmp/cmp"

	"batch.example/batch/docker"
	"batch.example/batch/docker/boxinit"
	"batch.example/batch/docker/containers"
	"batch.example/batch/fault"
	"batch.example/batch/internal/boxinit/packed"
	"batch.example/batch/internal/tier"
)

// helpers are the results of helper: unpacking takes long under the race detector.
var helpers sync.Map

// helper is the boxinit for amd64 or arm64, as it must be in a container.
func helper(t *testing.T, arch string) []byte {
	t.Helper()
	if known, ok := helpers.Load(arch); ok {
		return known.([]byte)
	}
	program, err := packed.Unpack(packed.For(arch))
	if err != nil {
		t.Fatal(err)
	}
	helpers.Store(arch, program)
	return program
}

// at returns a connection to an engine, and a client that bypasses it.
func at(t *testing.T, host string) (*docker.Engine, *client.Client) {
	t.Helper()
	e, err := docker.Connect(t.Context(), docker.Config{Host: host})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	api, err := client.NewClientWithOpts(client.WithHost(host), client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.Close() })
	return e, api
}

// boxed creates a container in which boxinit is process 1, and starts it. If the
// volume lacks boxinit, it is filled, which boxed reports.
func boxed(t *testing.T, e *docker.Engine, api *client.Client, image string, change func(*container.Config, *container.HostConfig)) (id string, lacked bool) {
	t.Helper()
	m, err := e.Init.Mount(t.Context(), image)
	if err != nil {
		t.Error(err)
		return "", false
	}
	c := &container.Config{Image: image, Entrypoint: []string{boxinit.Path}, OpenStdin: true}
	h := &container.HostConfig{NetworkMode: "none", Mounts: []mount.Mount{m}}
	if change != nil {
		change(c, h)
	}
	made, err := api.ContainerCreate(t.Context(), c, h, nil, nil, "")
	if err != nil {
		t.Error(err)
		return "", false
	}
	t.Cleanup(func() {
		err := api.ContainerRemove(context.Background(), made.ID, container.RemoveOptions{Force: true})
		if err != nil && !errdefs.IsNotFound(err) {
			t.Error(err)
		}
	})
	err = api.ContainerStart(t.Context(), made.ID, container.StartOptions{})
	if lacked = boxinit.NeedsRefill(err); lacked {
		if err := e.Init.Refill(t.Context(), image); err != nil {
			t.Error(err)
		}
		err = api.ContainerStart(t.Context(), made.ID, container.StartOptions{})
	}
	if err != nil {
		t.Error(err)
	}
	return made.ID, lacked
}

// runsInit checks that boxinit is process 1 of a container, and that nothing
// in the container can change it. Args are for ps.
func runsInit(t *testing.T, api *client.Client, id, args string) {
	t.Helper()
	top, err := api.ContainerTop(t.Context(), id, strings.Fields(args))
	// The engine reports the start shortly before the runtime executes boxinit.
	for end := time.Now().Add(enough); err == nil && len(top.Processes) == 1 && !slices.Contains(top.Processes[0], boxinit.Path) && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
		top, err = api.ContainerTop(t.Context(), id, strings.Fields(args))
	}
	if err != nil || len(top.Processes) != 1 || !slices.Contains(top.Processes[0], boxinit.Path) {
		t.Errorf("processes %v, %v; want 1 process, %v in the first process, no error", top.Processes, err, boxinit.Path)
	}
	in, err := api.ContainerInspect(t.Context(), id)
	if err != nil || len(in.Mounts) != 1 || in.Mounts[0].RW {
		t.Errorf("mounts %+v, error %v; want one that is read-only", in.Mounts, err)
	}
}

// holdsInit is runsInit for Docker, and checks that boxinit is complete: Podman
// copies nothing from the volumes of running containers.
func holdsInit(t *testing.T, api *client.Client, id string) {
	t.Helper()
	runsInit(t, api, id, "-eo pid,args")
	body, _, err := api.CopyFromContainer(t.Context(), id, boxinit.Path)
	if err != nil {
		t.Error(err)
		return
	}
	defer body.Close()
	r := tar.NewReader(body)
	h, err := r.Next()
	if err != nil || h.Mode&0o7777 != 0o755 || h.Uid != 0 || h.Gid != 0 || h.ModTime.Unix() != 0 {
		t.Errorf("got %+v, %v; want mode %#o, uid 0, gid 0, unix 0, no error", h, err, 0o755)
	}
	if program, err := io.ReadAll(r); err != nil || !bytes.Equal(program, helper(t, runtime.GOARCH)) {
		t.Errorf("boxinit in the container has %d other bytes, error %v", len(program), err)
	}
}

// boxes are containers with few settings in common.
var boxes = map[string]func(*container.Config, *container.HostConfig){
	"plain":          nil,
	"read-only root": func(_ *container.Config, h *container.HostConfig) { h.ReadonlyRootfs = true },
	"another user":   func(c *container.Config, _ *container.HostConfig) { c.User = "12345:1" },
	"next to nothing": func(c *container.Config, h *container.HostConfig) {
		c.User, c.WorkingDir = "7", "/tmp"
		h.ReadonlyRootfs, h.CapDrop, h.SecurityOpt = true, []string{"ALL"}, []string{"no-new-privileges"}
	},
}

func TestBoxinitIsProcess1OfEveryContainer(t *testing.T) {
	t.Parallel()
	e, api := connect(t), raw(t)
	image := testImage(t)
	for name, change := range boxes {
		t.Run(name, func(t *testing.T) {
			id, _ := boxed(t, e, api, image, change)
			if name == "plain" { // before a copy, which makes the engine create the folder
				if left, err := api.ContainerDiff(t.Context(), id); err != nil || len(left) > 0 {
					t.Errorf("the image's files contain the mount point: %v, %v", left, err)
				}
			}
			holdsInit(t, api, id)
		})
	}
}

func TestTheBoxinitVolumeIsFilledOnce(t *testing.T) {
	tier.Rest(t)
	s := newEngineStub(t)
	s.say("GET /volumes/*", answer(http.StatusNotFound, map[string]string{"message": "no such volume"}))
	e := s.connect(t, time.Minute)
	var files bytes.Buffer
	s.say("PUT /containers/*/archive", func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(&files, r.Body) })
	var wg sync.WaitGroup
	var mounts [20]mount.Mount
	for i := range mounts {
		wg.Go(func() {
			var err error
			if mounts[i], err = e.Init.Mount(t.Context(), stubImage); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, m := range mounts {
		if !m.ReadOnly || m.Source != mounts[0].Source || m.Type != mount.TypeVolume || !m.VolumeOptions.NoCopy {
			t.Errorf("mount %+v, want read only true, source %v, type %v, no copy true", m, mounts[0].Source, mount.TypeVolume)
		}
	}
	for call, want := range map[string]int{
		"GET /info": 1, "GET /volumes/*": 1, "POST /containers/create": 1, "POST /containers/*/start": 0, "DELETE /containers/*": 1,
	} {
		if n := s.count(call); n != want {
			t.Errorf("%s: %d times, want %d", call, n, want)
		}
	}
	made := s.made[0]
	if m := made.HostConfig.Mounts; len(m) != 1 || m[0].ReadOnly || m[0].Source != mounts[0].Source || made.Labels[containers.LabelOwner] == "" ||
		made.Labels[containers.LabelExpires] == "" {
		t.Errorf("filled by %+v, mounts %+v; want one writable mount of the same volume, and labels", made.Config, m)
	}
	r := tar.NewReader(&files)
	whole, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	program, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(program, helper(t, "amd64")) || whole.Mode != 0o755 || whole.Uid != 0 || whole.ModTime.Unix() != 0 {
		t.Errorf("got %+v, %d bytes, %v; want program %q, mode %#o, uid 0, unix 0, no error",
			whole, len(program), err, helper(t, "amd64"), 0o755)
	}
	link, err := r.Next()
	if err != nil || link.Typeflag != tar.TypeLink || link.Linkname != whole.Name || boxinit.Path != mounts[0].Target+"/"+link.Name {
		t.Errorf("got %+v, %v; want typeflag %v, linkname %v, path %v, no error",
			link, err, tar.TypeLink, whole.Name, mounts[0].Target+"/"+link.Name)
	}
	if err := e.Init.Refill(t.Context(), stubImage); err != nil || s.count("POST /containers/create") != 2 {
		t.Errorf("refilled by %d containers, error %v; want 1", s.count("POST /containers/create")-1, err)
	}
}

func TestBoxinitIsChosenByTheEnginesArchitecture(t *testing.T) {
	names := map[string]string{}
	for _, c := range []struct{ system, machine, arch string }{
		{"linux", "x86_64", "amd64"},
		{"linux", "amd64", "amd64"},
		{"linux", "aarch64", "arm64"},
		{"linux", "arm64", "arm64"},
		{"linux", "riscv64", ""},
		{"windows", "x86_64", ""},
	} {
		s := newEngineStub(t)
		s.say("GET /volumes/*", answer(http.StatusNotFound, map[string]string{"message": "no such volume"}))
		e := s.connect(t, time.Minute)
		s.say("GET /info", answer(http.StatusOK, map[string]any{"OSType": c.system, "Architecture": c.machine}))
		s.say("GET /volumes/*", answer(http.StatusOK, map[string]any{"Name": "there"}))
		m, err := e.Init.Mount(t.Context(), stubImage)
		switch {
		case c.arch == "":
			if fault.KindOf(err) != fault.Host || fault.HintOf(err) == "" {
				t.Errorf("got %s/%s: %v: %v; want a Host fault, a hint", c.system, c.machine, fault.KindOf(err), err)
			}
		case err != nil || !regexp.MustCompile("^batch-init-"+c.arch+"-[0-9a-f]{12}$").MatchString(m.Source) ||
			names[c.arch] != "" && names[c.arch] != m.Source:
			t.Errorf("%s/%s: volume %s, error %v", c.system, c.machine, m.Source, err)
		}
		names[c.arch] = m.Source
		if n := s.count("POST /containers/create"); n != 0 {
			t.Errorf("%d containers were created to fill a full volume, want none", n)
		}
	}
}

func TestAFailedFillOfTheBoxinitVolumeLeavesNoContainer(t *testing.T) {
	s := newEngineStub(t)
	s.say("GET /volumes/*", answer(http.StatusNotFound, map[string]string{"message": "no such volume"}))
	e := s.connect(t, time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	for _, c := range []struct {
		call string
		do   http.HandlerFunc
		want error
	}{
		{"POST /containers/create", answer(http.StatusInternalServerError, map[string]string{"message": "no"}), nil},
		{"PUT /containers/*/archive", answer(http.StatusInternalServerError, map[string]string{"message": "no"}), nil},
		{"PUT /containers/*/archive", func(w http.ResponseWriter, r *http.Request) { cancel(); s.hang(w, r) }, context.Canceled},
	} {
		before := s.count("DELETE /containers/*")
		s.say(c.call, c.do)
		_, err := e.Init.Mount(ctx, stubImage)
		if err == nil || c.want != nil && !errors.Is(err, c.want) || c.want == nil && fault.KindOf(err) != fault.Transient {
			t.Errorf("%s: got %v: %v; want error %v, or a Transient fault if that is nil",
				c.call, fault.KindOf(err), err, c.want)
		}
		if s.count("DELETE /containers/*") != before+1 {
			t.Errorf("after %s failed, the container is not removed", c.call)
		}
		s.say(c.call, nil)
	}
	if _, err := e.Init.Mount(t.Context(), stubImage); err != nil {
		t.Errorf("afterwards: got error %v", err)
	}
}

func TestEngineErrorsForAMissingBoxinit(t *testing.T) {
	got := map[string]bool{}
	want := map[string]bool{
		`failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: exec: "/dev/batch/init": stat /dev/batch/init: no such file or directory: unknown`:                       true,
		`failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: exec: "/dev/batch/init": permission denied: unknown`:                                                     true,
		`runc: runc create failed: unable to start container process: exec: "/dev/batch/init": stat /dev/batch/init: no such file or directory: OCI runtime attempted to invoke a command that was not found`:                   true,
		"crun: executable file `/dev/batch/init` not found in $PATH: No such file or directory: OCI runtime attempted to invoke a command that was not found":                                                                   true,
		"crun: exec container process `/dev/batch/init`: Exec format error: OCI runtime error":                                                                                                                                  true,
		"crun: open executable: Permission denied: OCI permission denied":                                                                                                                                                       true,
		`OCI runtime create failed: runc create failed: unable to start container process: exec: "bash": executable file not found in $PATH: unknown`:                                                                           false,
		`OCI runtime create failed: runc create failed: unable to start container process: error during container init: error setting rlimits for ready process: error setting rlimit type 7: operation not permitted: unknown`: false,
	}
	for text := range want {
		got[text] = boxinit.NeedsRefill(errors.New(text))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if boxinit.NeedsRefill(nil) {
		t.Error("nil is taken as the error of a missing boxinit")
	}
}
