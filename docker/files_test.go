package docker_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"batch.example/batch/docker"
	"batch.example/batch/fault"
	"batch.example/batch/internal/enginetest"
	"batch.example/batch/internal/tier"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/sandbox/engine/files"
)

// ownFiles returns the files of a folder that no other test has, and the name of their volume, which is removed
// at the end of the test.
func ownFiles(t *testing.T) (f engine.Files, volume string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"tool": "#!/bin/bash\ncat ${0%/*}/z/last", "own": rand.Text(), "z/last": "last", "large": strings.Repeat("x", 4<<20)} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := files.Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	volume = "batch-files-" + f.Digest[:16]
	removeVolume(t, volume)
	return f, volume
}

// removeVolume removes a volume at the end of the test.
func removeVolume(t *testing.T, name string) {
	api := raw(t)
	t.Cleanup(func() {
		if err := api.VolumeRemove(context.Background(), name, false); err != nil && !errdefs.IsNotFound(err) {
			t.Error(err)
		}
	})
}

// hasFiles creates a container, in which the program of the files must work.
func hasFiles(t *testing.T, e *docker.Engine, s engine.Spec) {
	t.Helper()
	if r := run(t, start(t, e, s), engine.FilesDir+"/tool"); string(r.Bytes) != "last" {
		t.Errorf("got %q, exit code %d", r.Bytes, r.ExitCode)
	}
}

// noFiller checks that no container is left that fills a volume.
func noFiller(t *testing.T, api *client.Client, volume string) {
	t.Helper()
	if _, err := api.ContainerInspect(t.Context(), volume); !errdefs.IsNotFound(err) {
		t.Errorf("container %s: %v, want none", volume, err)
	}
}

func TestSeveralProcessesFillAVolumeOnce(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	f, volume := ownFiles(t)
	engines := [3]*docker.Engine{connect(t), connect(t), connect(t)} // as other processes have
	var creating sync.WaitGroup
	for i := range 6 {
		creating.Go(func() {
			c, err := engines[i%3].Create(t.Context(), engine.Spec{Image: testImage(t), Files: f, Unattended: 5 * time.Minute})
			if err != nil {
				t.Error(err)
				return
			}
			if r := run(t, c, engine.FilesDir+"/tool"); string(r.Bytes) != "last" {
				t.Errorf("got %q, exit code %d", r.Bytes, r.ExitCode)
			}
			if err := c.Remove(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	creating.Wait()
	noFiller(t, raw(t), volume)
}

func TestAVolumeThatWasRemovedIsFilledAgain(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	e, api := connect(t), raw(t)
	f, volume := ownFiles(t)
	for range 2 {
		c, err := e.Create(t.Context(), engine.Spec{Image: testImage(t), Files: f})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.RemoveFiles(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := api.VolumeInspect(t.Context(), volume); err != nil {
			t.Errorf("the volume of a container is gone: %v", err)
		}
		if r := run(t, c, engine.FilesDir+"/tool"); string(r.Bytes) != "last" {
			t.Errorf("got %q", r.Bytes)
		}
		if err := c.Remove(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := e.RemoveFiles(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := api.VolumeInspect(t.Context(), volume); !errdefs.IsNotFound(err) {
			t.Errorf("the volume is left: %v", err)
		}
	}
}

// A process that is killed while it fills a volume leaves the container that it fills it through, and a part of
// the files.
func TestAVolumeThatWasFilledInPartIsNotWhole(t *testing.T) {
	tier.Rest(t)
	if image, dir, again := strings.Cut(enginetest.Value(), " "); again {
		killedWhileFilling(t, image, dir)
	}
	e, api := connect(t), raw(t)
	f, volume := ownFiles(t)
	kill := enginetest.Again(t, t.Name(), testImage(t)+" "+f.Folder)
	var there container.InspectResponse
	err := errors.New("not begun")
	for end := time.Now().Add(enough); err != nil && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		there, err = api.ContainerInspect(t.Context(), volume)
	}
	kill()
	if err != nil {
		t.Fatal(err)
	}
	var part bytes.Buffer
	w := tar.NewWriter(&part)
	if err := errors.Join(w.WriteHeader(&tar.Header{Name: "tool", Mode: 0o755, Size: 4}), w.Flush()); err == nil {
		_, _ = w.Write([]byte("part"))
		_ = w.WriteHeader(&tar.Header{Name: "large", Mode: 0o755, Size: 1 << 20})
		_, _ = w.Write(make([]byte, 1<<19))
	}
	half := io.MultiReader(&part, iotest.ErrReader(errors.New("killed")))
	if err := api.CopyToContainer(t.Context(), there.ID, engine.FilesDir, half, container.CopyToContainerOptions{}); err == nil {
		t.Error("a part of an archive was accepted")
	}
	hasFiles(t, e, engine.Spec{Files: f})
	noFiller(t, api, volume)
	removeOf(t, e, f.Folder)
}

// removeOf removes the containers of an instance.
func removeOf(t *testing.T, e *docker.Engine, instance string) {
	t.Helper()
	owned, err := e.Owned(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range owned {
		if o.Instance == instance {
			if err := e.Remove(t.Context(), o.ID); err != nil {
				t.Error(err)
			}
		}
	}
}

func killedWhileFilling(t *testing.T, image, dir string) {
	const looks = 2 // for a volume that is whole
	copies := 0
	e, err := docker.Connect(t.Context(), docker.Config{Host: os.Getenv("DOCKER_HOST"), Before: func(call string) error {
		if call == "copy" {
			copies++
		}
		if copies > looks {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := files.Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Create(t.Context(), engine.Spec{Image: image, Files: f, Labels: map[string]string{engine.LabelInstance: dir}})
	t.Fatalf("it was not killed: %v", err)
}

func TestAFillThatFailsLeavesNothing(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	e, api := connect(t), raw(t)
	f, volume := ownFiles(t)
	name := filepath.Join(f.Folder, "own")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("changed"), 0o700); err != nil {
		t.Fatal(err)
	}
	instance := rand.Text()
	s := engine.Spec{Image: testImage(t), Files: f, Labels: map[string]string{engine.LabelInstance: instance}}
	if _, err := e.Create(t.Context(), s); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "was changed") {
		t.Errorf("a folder that has changed: %v", err)
	}
	if err := os.WriteFile(name, text, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, after := range []time.Duration{time.Millisecond, 20 * time.Millisecond, 60 * time.Millisecond, 100 * time.Millisecond} {
		ctx, cancel := context.WithCancel(t.Context())
		timer := time.AfterFunc(after, cancel)
		c, err := e.Create(ctx, s)
		timer.Stop()
		cancel()
		if err == nil {
			err = c.Remove(t.Context())
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("canceled after %v: %v", after, err)
		}
		noFiller(t, api, volume)
	}
	owned, err := e.Owned(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range owned {
		if o.Instance == instance {
			t.Errorf("left %+v", o)
		}
	}
	hasFiles(t, e, engine.Spec{Files: f})
}

// The files of an image may be more than the engine says in any other answer, and need nothing of the image.
func TestTheFilesOfAnImageOfAnySize(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	e := connect(t)
	name := imageOf(t, nil, map[string]string{"tool": "#!/bin/bash\ncat ${0%/*}/z/last", "z/last": "last", "zeros": strings.Repeat("\x00", 80<<20)})
	t.Cleanup(func() {
		if _, err := e.RemoveFiles(context.Background()); err != nil {
			t.Error(err)
		}
	})
	c := start(t, e, engine.Spec{Files: engine.Files{Image: name}})
	if r := run(t, c, "bash "+engine.FilesDir+"/tool; wc -c <"+engine.FilesDir+"/zeros"); string(r.Bytes) != "last83886080\n" {
		t.Errorf("got %q", r.Bytes)
	}
	if r := run(t, c, "touch "+engine.FilesDir+"/x"); r.ExitCode == 0 {
		t.Error("the files can be written")
	}
}

// What protects an image's files, and what users containers have, does not matter to the files.
func TestFilesInAnyContainer(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	e := connect(t)
	f, _ := ownFiles(t)
	for name, s := range map[string]engine.Spec{
		"another user": {User: "1000:1000"}, "read-only": {ReadOnly: true}, "noexec": {Tmpfs: map[string]string{"/tmp": "noexec"}},
		"all": {User: "1000", ReadOnly: true, Tmpfs: map[string]string{"/tmp": "noexec", "/opt": "noexec"}},
	} {
		t.Run(name, func(t *testing.T) {
			s.Files = f
			hasFiles(t, e, s)
		})
	}
}
