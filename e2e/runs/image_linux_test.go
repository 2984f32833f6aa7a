package runs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/kube"
)

// TestTheImageRunsASweepThroughTheMountedSocket builds the image of batch, as
// scripts/image does, and runs two instances of the demo in a container of it.
func TestTheImageRunsASweepThroughTheMountedSocket(t *testing.T) {
	tier.Rest(t, "Dockerfile", "scripts/image", "scripts/build")
	e2e.NeedDocker(t)
	t.Parallel()
	socket, ok := strings.CutPrefix(os.Getenv("DOCKER_HOST"), "unix://")
	if !ok {
		if os.Getenv("DOCKER_HOST") != "" {
			t.Skip("the engine is not on a socket of this machine")
		}
		socket = "/var/run/docker.sock"
	}
	image := fmt.Sprintf("batch-image-test:%d", os.Getpid())
	command := func(name string, args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	command(filepath.Join("..", "..", "scripts", "image"), image)
	t.Cleanup(func() { e2e.RemoveImage(t, image) })
	hasPodHelper(t, command, image)
	runs := t.TempDir()
	if err := os.Chmod(runs, 0o777); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(socket)
	if err != nil {
		t.Fatal(err)
	}
	group := fmt.Sprint(info.Sys().(*syscall.Stat_t).Gid)
	batch := func(args ...string) string { // as a user who may write only to the directory of runs
		t.Helper()
		return command("docker", append([]string{
			"run", "--rm", "--network", "none", "--user", "1234:1234", "--group-add", group,
			"-v", socket + ":/var/run/docker.sock", "-v", runs + ":/runs", image,
		}, args...)...)
	}
	sweep := []string{"run", "--subset", "demo", "-m", "scripted/demo", "--slice", ":2", "-w", "2", "-o", "/runs/demo"}
	out := batch(sweep...)
	text, err := os.ReadFile(filepath.Join(runs, "demo", "preds.json"))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var preds map[string]json.RawMessage
	if err := json.Unmarshal(text, &preds); err != nil || len(preds) != 2 {
		t.Errorf("preds.json has %d predictions, want 2 (%v)\n%s", len(preds), err, out)
	}
	if out := batch(sweep...); !strings.Contains(out, "2 of 2 instances have a result") {
		t.Errorf("the same command again does not report 2 of 2 results:\n%s", out)
	}
	if out := batch("status", "/runs/demo"); strings.Contains(out, "in use") {
		t.Errorf("the directory is in use after the run:\n%s", out)
	}
}

// hasPodHelper checks that the image can be environment.pod.helperImage.
func hasPodHelper(t *testing.T, command func(name string, args ...string) string, image string) {
	t.Helper()
	arch := strings.TrimSpace(command("docker", "image", "inspect", "--format", "{{.Architecture}}", image))
	name, program, err := kube.Helper(arch)
	if err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSpace(command("docker", "create", image))
	defer command("docker", "rm", id)
	to := filepath.Join(t.TempDir(), "helper")
	command("docker", "cp", id+":"+name, to)
	if got, err := os.ReadFile(to); err != nil || !bytes.Equal(got, program) {
		t.Errorf("%s in the image is not the helper of pods: %v", name, err)
	}
}
