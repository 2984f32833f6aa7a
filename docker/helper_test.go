package docker_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"

	"batch.example/batch/docker"
	"batch.example/batch/docker/containers"
	"batch.example/batch/internal/enginetest"
	"batch.example/batch/sandbox/engine"
	conformance "batch.example/batch/sandbox/engine/enginetest"
)

var imageOnce = sync.OnceValues(importImage)

// connect returns an engine, or skips the test when there is none.
func connect(t testing.TB) *docker.Engine {
	t.Helper()
	return connectFrom(t, t.TempDir())
}

// connectFrom is connect for a user with that home directory.
func connectFrom(t testing.TB, home string) *docker.Engine {
	t.Helper()
	e := openFrom(t, home)
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func openFrom(t testing.TB, home string) *docker.Engine {
	t.Helper()
	e, err := docker.Connect(t.Context(), docker.FromEnv(os.Getenv, home))
	if err != nil {
		if os.Getenv("BATCH_DOCKER") == "require" {
			t.Fatal(err)
		}
		t.Skipf("no docker engine: %v", err)
	}
	return e
}

// testImage returns the name of an image with bash and some tools in it.
func testImage(t testing.TB) string {
	t.Helper()
	name, err := imageOnce()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// start makes a container that is removed at the end of the test.
func start(t testing.TB, e *docker.Engine, s engine.Spec) *containers.Container {
	t.Helper()
	if s.Image == "" {
		s.Image = testImage(t)
	}
	if s.Unattended == 0 {
		s.Unattended = 5 * time.Minute
	}
	c, err := e.Create(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Remove(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// testRepo is the name of the images made by these tests.
const testRepo = "batch-docker-test"

// ownImage returns the name of an image that no other test and no other process makes.
func ownImage() string { return testRepo + ":" + strings.ToLower(rand.Text()) }

func TestMain(m *testing.M) {
	code := m.Run()
	if err := removeImages(); err != nil {
		fmt.Fprintln(os.Stderr, "removing the test's image:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

var imported string // the image of this process, once it was built

// importImage builds the image from the host's programs.
func importImage() (string, error) {
	api, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		return "", err
	}
	defer api.Close()
	ctx := context.Background()
	root, err := enginetest.Root(strings.Fields(conformance.Tools), nil)
	if err != nil {
		return "", err
	}
	name := ownImage()
	body, err := api.ImageImport(ctx, image.ImportSource{Source: bytes.NewReader(root), SourceName: "-"}, name,
		image.ImportOptions{Changes: []string{"ENV PATH=/usr/bin:/bin"}})
	if err != nil {
		return "", err
	}
	defer body.Close()
	imported = name
	_, err = io.Copy(io.Discard, body)
	return name, err
}

// removeImages removes the image of this process, and the images of processes
// that were killed long ago.
func removeImages() error {
	if imported == "" {
		return nil
	}
	api, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		return err
	}
	defer api.Close()
	ctx := context.Background()
	list, err := api.ImageList(ctx, image.ListOptions{Filters: filters.NewArgs(filters.Arg("reference", testRepo))})
	if err != nil {
		return err
	}
	_, err = api.ImageRemove(ctx, imported, image.RemoveOptions{Force: true})
	for _, img := range list {
		if time.Since(time.Unix(img.Created, 0)) > 2*time.Hour {
			_, _ = api.ImageRemove(ctx, img.ID, image.RemoveOptions{}) // fails while a container uses it
		}
	}
	return err
}

// enough is a time limit for commands that end by themselves, however busy the machine is.
const enough = conformance.Enough

var (
	run, runCommand = conformance.Script, conformance.Command
	awaitFile, soon = conformance.AwaitFile, conformance.Soon
	stream          = conformance.Stream
	processes       = conformance.Processes
)
