package docker_test

import (
	"bufio"
	"io"
	"testing"

	"batch.example/batch/docker/containers"
	"batch.example/batch/internal/tier"
	"batch.example/batch/sandbox/engine"
)

// stream starts a program that is ended with the test.
func stream(t testing.TB, c *containers.Container, p containers.Program) *containers.Stream {
	t.Helper()
	s, err := c.Stream(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // the test looks at the error
	return s
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
