package images_test

import (
	"os"
	"testing"

	"github.com/docker/docker/client"

	"batch.example/batch/docker"
)

// connect returns an engine, or skips the test when there is none.
func connect(t testing.TB) *docker.Engine {
	t.Helper()
	e, err := docker.Connect(t.Context(), docker.FromEnv(os.Getenv, t.TempDir()))
	if err != nil {
		if os.Getenv("BATCH_DOCKER") == "require" {
			t.Fatal(err)
		}
		t.Skipf("no docker engine: %v", err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// raw returns a client that adds nothing to its calls.
func raw(t testing.TB) *client.Client {
	t.Helper()
	api, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.Close() })
	return api
}
