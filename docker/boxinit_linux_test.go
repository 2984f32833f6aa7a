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
)

// Each of these has the engine to itself, since others use the machine's volume.
func TestTheHelpersVolumeOutlivesWhatIsDoneToIt(t *testing.T) {
	t.Parallel()
	d, _ := privateEngine(t)
	_, api := at(t, d.Host())
	const image = "outage:test"
	for name, test := range map[string]func(*testing.T, *client.Client, string){
		"several processes fill it":   severalFill,
		"removed before the start":    removedBeforeStart,
		"killed in the middle":        killedInTheMiddle,
		"cancelled in the middle":     cancelledInTheMiddle,
		"filled under what runs":      filledWhileRunning,
		"removed when nobody uses it": removedUnused,
		"mended by Create":            mendedByCreate,
	} {
		t.Run(name, func(t *testing.T) { test(t, api, image) })
		if left := volumes(t, api); len(left) > 0 {
			t.Fatalf("%s leaves %v", name, left)
		}
		if all, err := api.ContainerList(t.Context(), container.ListOptions{All: true}); err != nil || len(all) > 0 {
			t.Fatalf("%s leaves %v, %v", name, all, err)
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

// removed takes the containers and then the volume away.
func removed(t *testing.T, e *docker.Engine, api *client.Client, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := api.ContainerRemove(t.Context(), id, container.RemoveOptions{Force: true}); err != nil {
			t.Error(err)
		}
	}
	if there, err := e.Init.Remove(t.Context()); !there || err != nil {
		t.Errorf("removed %v, %v", there, err)
	}
}

func severalFill(t *testing.T, api *client.Client, image string) {
	e, _ := at(t, api.DaemonHost())
	for range 2 {
		var ids [4]string
		var wg sync.WaitGroup
		for i := range ids {
			other, _ := at(t, e.Host()) // which knows nothing of the others, as another process
			wg.Go(func() { ids[i], _ = boxed(t, other, api, image, nil) })
		}
		wg.Wait()
		for _, id := range ids {
			holdsInit(t, api, id)
		}
		if there, err := e.Init.Remove(t.Context()); there || err != nil {
			t.Errorf("in use and removed: %v, %v", there, err)
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
		t.Error("nothing was missing")
	}
	holdsInit(t, api, id)
	removed(t, e, api, id)
}

// A client that is killed leaves its container, and what it has sent so far.
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
		t.Error("half a file was taken")
	}
	other, _ := at(t, api.DaemonHost())
	id, lacked := boxed(t, other, api, image, nil)
	if !lacked {
		t.Error("nothing was missing")
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
		t.Errorf("cancelled: %v", err)
	}
	if owned, err := e.Owned(t.Context()); err != nil || len(owned) > 0 {
		t.Errorf("left %v, %v", owned, err)
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
		t.Error("a refill took the helper away")
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
		t.Errorf("another version's stays: %v, %v", there, err)
	}
	if left := volumes(t, api); len(left) != 2 || slices.Contains(left, old) {
		t.Errorf("left %v", left)
	}
	holdsInit(t, api, id)
	removed(t, e, api, id)
	if there, err := e.Init.Remove(t.Context()); there || err != nil {
		t.Errorf("removed %v, %v", there, err)
	}
	if err := api.VolumeRemove(t.Context(), foreign, false); err != nil {
		t.Errorf("what is not batch's: %v", err)
	}
}

// What is in the volume may be missing, or no program: a crash of the engine's
// machine may leave it empty.
func mendedByCreate(t *testing.T, api *client.Client, image string) {
	e, _ := at(t, api.DaemonHost())
	for _, harm := range []string{"", "removed", "spoilt"} {
		switch harm {
		case "removed":
			removed(t, e, api)
		case "spoilt":
			spoil(t, e, api, image)
		}
		c, err := e.Create(t.Context(), containers.Spec{Image: image})
		if err != nil {
			t.Fatalf("%s: %v", harm, err)
		}
		r, err := c.Run(t.Context(), containers.Command{Script: "echo fine"})
		if err != nil || string(r.Bytes) != "fine\n" {
			t.Errorf("%s: %q, %v", harm, r.Bytes, err)
		}
		if err := c.Remove(t.Context()); err != nil {
			t.Error(err)
		}
	}
	removed(t, e, api)
}

// spoil puts an empty file in the helper's place.
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
