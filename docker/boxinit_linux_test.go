package docker_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"path"
	"slices"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/client"

	"batch.example/batch/docker"
	"batch.example/batch/docker/boxinit"
	"batch.example/batch/docker/containers"
	"batch.example/batch/internal/tier"
	"batch.example/batch/sandbox/engine"
)

// Each of these tests has the engine to itself, since others use the machine's volume.
func TestTheBoxinitVolumeSurvivesInterference(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	d, _ := privateEngine(t)
	_, api := at(t, d.Host())
	const image = "outage:test"
	for name, test := range map[string]func(*testing.T, *client.Client, string){
		"several processes fill it":   severalFill,
		"removed before the start":    removedBeforeStart,
		"killed in the middle":        killedInTheMiddle,
		"canceled in the middle":      cancelledInTheMiddle,
		"filled under what runs":      filledWhileRunning,
		"removed when it is not used": removedUnused,
		"repaired by Create":          mendedByCreate,
	} {
		t.Run(name, func(t *testing.T) { test(t, api, image) })
		if left := volumes(t, api); len(left) > 0 {
			t.Fatalf("got %s leaves %v; want no process", name, left)
		}
		if all, err := api.ContainerList(t.Context(), container.ListOptions{All: true}); err != nil || len(all) > 0 {
			t.Fatalf("got %s leaves %v, %v; want nothing, no error", name, all, err)
		}
	}
}

func volumes(t *testing.T, api *client.Client) (names []string) {
	t.Helper()
	list, err := api.VolumeList(t.Context(), volume.ListOptions{Filters: filters.NewArgs()})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range list.Volumes {
		names = append(names, v.Name)
	}
	return names
}

// removed removes the containers and then the volume.
func removed(t *testing.T, e *docker.Engine, api *client.Client, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := api.ContainerRemove(t.Context(), id, container.RemoveOptions{Force: true}); err != nil {
			t.Error(err)
		}
	}
	if there, err := e.Init.Remove(t.Context()); !there || err != nil {
		t.Errorf("removed %v, %v; want there true, no error", there, err)
	}
}

func severalFill(t *testing.T, api *client.Client, image string) {
	e, _ := at(t, api.DaemonHost())
	for range 2 {
		var ids [3]string
		var wg sync.WaitGroup
		for i := range ids {
			other, _ := at(t, e.Host()) // a connection as another process has
			wg.Go(func() { ids[i], _ = boxed(t, other, api, image, nil) })
		}
		wg.Wait()
		for _, id := range ids {
			holdsInit(t, api, id)
		}
		if there, err := e.Init.Remove(t.Context()); there || err != nil {
			t.Errorf("the volume in use was removed: %v, %v", there, err)
		}
		removed(t, e, api, ids[:]...)
	}
}

func removedBeforeStart(t *testing.T, api *client.Client, image string) {
	e, _ := at(t, api.DaemonHost())
	if _, err := e.Init.Mount(t.Context(), image); err != nil {
		t.Fatal(err)
	}
	removed(t, e, api)
	id, lacked := boxed(t, e, api, image, nil)
	if !lacked {
		t.Error("the volume was not missing, want it removed before the start")
	}
	holdsInit(t, api, id)
	removed(t, e, api, id)
}

// A killed client leaves its container, and the part that it has sent so far.
func killedInTheMiddle(t *testing.T, api *client.Client, image string) {
	e, _ := at(t, api.DaemonHost())
	m, err := e.Init.Mount(t.Context(), image)
	if err != nil {
		t.Fatal(err)
	}
	removed(t, e, api)
	m.ReadOnly = false
	left, err := api.ContainerCreate(t.Context(), &container.Config{Image: image, Entrypoint: []string{boxinit.Path}},
		&container.HostConfig{Mounts: []mount.Mount{m}}, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	var files bytes.Buffer
	w := tar.NewWriter(&files)
	if err := w.WriteHeader(&tar.Header{Name: ".part", Mode: 0o755, Size: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	files.Write(make([]byte, 1<<19))
	half := io.MultiReader(&files, iotest.ErrReader(errors.New("killed")))
	if err := api.CopyToContainer(t.Context(), left.ID, m.Target, half, container.CopyToContainerOptions{}); err == nil {
		t.Error("a partial file was accepted as boxinit")
	}
	other, _ := at(t, api.DaemonHost())
	id, lacked := boxed(t, other, api, image, nil)
	if !lacked {
		t.Error("the volume was not missing, want it incomplete")
	}
	holdsInit(t, api, id)
	removed(t, e, api, id, left.ID)
}

func cancelledInTheMiddle(t *testing.T, api *client.Client, image string) {
	ctx, cancel := context.WithCancel(t.Context())
	e, err := docker.Connect(t.Context(), docker.Config{Host: api.DaemonHost(), Before: func(call string) error {
		if call == "copy" {
			cancel()
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.Init.Mount(ctx, image); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v, want error %v", err, context.Canceled)
	}
	if owned, err := e.Owned(t.Context()); err != nil || len(owned) > 0 {
		t.Errorf("left %v, %v; want no owned, no error", owned, err)
	}
	id, _ := boxed(t, e, api, image, nil)
	holdsInit(t, api, id)
	removed(t, e, api, id)
}

func filledWhileRunning(t *testing.T, api *client.Client, image string) {
	e, _ := at(t, api.DaemonHost())
	first, _ := boxed(t, e, api, image, nil)
	if err := e.Init.Refill(t.Context(), image); err != nil {
		t.Fatal(err)
	}
	second, lacked := boxed(t, e, api, image, nil)
	if lacked {
		t.Error("a refill removed boxinit from a running container")
	}
	for _, id := range []string{first, second} {
		holdsInit(t, api, id)
	}
	removed(t, e, api, first, second)
}

func removedUnused(t *testing.T, api *client.Client, image string) {
	e, _ := at(t, api.DaemonHost())
	const old, foreign = "batch-init-amd64-000000000000", "my-batch-init-notes"
	for _, name := range []string{old, foreign} {
		if _, err := api.VolumeCreate(t.Context(), volume.CreateOptions{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	id, _ := boxed(t, e, api, image, nil)
	if there, err := e.Init.Remove(t.Context()); !there || err != nil {
		t.Errorf("another version's stays: %v, %v; want there true, no error", there, err)
	}
	if left := volumes(t, api); len(left) != 2 || slices.Contains(left, old) {
		t.Errorf("left %v, want 2, without %v", left, old)
	}
	holdsInit(t, api, id)
	removed(t, e, api, id)
	if there, err := e.Init.Remove(t.Context()); there || err != nil {
		t.Errorf("removed %v, %v; want there false, no error", there, err)
	}
	if err := api.VolumeRemove(t.Context(), foreign, false); err != nil {
		t.Errorf("a volume that is not batch's was removed: %v", err)
	}
}

// The file in the volume may be missing or damaged: after a crash of the engine's
// machine it may be empty.
func mendedByCreate(t *testing.T, api *client.Client, image string) {
	e, _ := at(t, api.DaemonHost())
	for _, harm := range []string{"", "removed", "spoilt"} {
		switch harm {
		case "removed":
			removed(t, e, api)
		case "spoilt":
			spoil(t, e, api, image)
		}
		c, err := e.Create(t.Context(), engine.Spec{Image: image})
		if err != nil {
			t.Fatalf("%s: %v", harm, err)
		}
		r, err := c.Run(t.Context(), containers.Command{Script: "echo fine"})
		if err != nil || string(r.Bytes) != "fine\n" {
			t.Errorf("%s: got %q, %v; want output %q, no error", harm, r.Bytes, err, "fine\n")
		}
		if err := c.Remove(t.Context()); err != nil {
			t.Error(err)
		}
	}
	removed(t, e, api)
}

// spoil puts an empty file in place of boxinit.
func spoil(t *testing.T, e *docker.Engine, api *client.Client, image string) {
	t.Helper()
	m, err := e.Init.Mount(t.Context(), image)
	if err != nil {
		t.Fatal(err)
	}
	m.ReadOnly = false
	c, err := api.ContainerCreate(t.Context(), &container.Config{Image: image, Entrypoint: []string{"x"}},
		&container.HostConfig{Mounts: []mount.Mount{m}}, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	var files bytes.Buffer
	w := tar.NewWriter(&files)
	if err := errors.Join(w.WriteHeader(&tar.Header{Name: path.Base(boxinit.Path), Mode: 0o755}), w.Close(),
		api.CopyToContainer(t.Context(), c.ID, m.Target, &files, container.CopyToContainerOptions{}),
		api.ContainerRemove(t.Context(), c.ID, container.RemoveOptions{})); err != nil {
		t.Fatal(err)
	}
}
