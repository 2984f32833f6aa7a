package docker_test

import (
	"testing"

	"batch.example/batch/docker"
	"batch.example/batch/sandbox/engine"
	conformance "batch.example/batch/sandbox/engine/enginetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.Run(t, conformance.Options{
		Open:   func(t testing.TB, dir string) engine.Engine { return docker.Sandboxes{Engine: connectFrom(t, dir)} },
		Image:  testImage,
		Limits: true,
	})
}
