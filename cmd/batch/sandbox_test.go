package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"batch.example/batch/agent/config"
	"batch.example/batch/docker"
	"batch.example/batch/imagecache"
	"batch.example/batch/solver"
)

// testSandboxes are those of a run with the default configuration and what specs
// change in it, on the real engine.
func testSandboxes(t *testing.T, before func(call string) error, specs ...string) *sandboxes {
	t.Helper()
	home, _ := os.UserHomeDir()
	c := docker.FromEnv(os.Getenv, home)
	c.Before = before
	engine, err := docker.Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	cfg, err := config.Load(specs, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := imagecache.OpenLedger(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	images := imagecache.New(imageEngine{engine}, ledger, imagecache.Options{})
	boxes := (&app{getenv: os.Getenv}).newSandboxes(engine, images, cfg.Environment, "", 1)
	boxes.left, boxes.pulled = &inheritance{engine: engine}, func(string, imagecache.Progress) {}
	return boxes
}

func (s *sandboxes) open(t *testing.T, o solver.Opening) solver.Sandbox {
	t.Helper()
	o.Report = func(string) {}
	box, err := s.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	return box
}

// Somebody builds or pulls the image anew in the moment before its container
// is made.
func TestTheRecordedImageIsTheOneThatRan(t *testing.T) {
	needDocker(t)
	const ref = "batch-test/moves:1"
	first, second := demoInstances(t)[0], demoInstances(t)[1]
	tag := func(image string) error { return exec.Command("docker", "tag", image, ref).Run() }
	if err := tag(first.ImageName("")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeImage(t, ref) })
	boxes := testSandboxes(t, func(call string) error {
		if call == "create" {
			return tag(second.ImageName(""))
		}
		return nil
	})
	want, _, err := boxes.engine.Image(t.Context(), ref, "")
	if err != nil {
		t.Fatal(err)
	}
	in := first
	in.Image = ref
	box := boxes.open(t, solver.Opening{Instance: in, Attempt: 1})
	f := box.Facts()
	ran, err := exec.Command("docker", "inspect", "--format", "{{.Image}}", f.Container).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(string(ran)); got != want.ID || f.ImageID != got || f.Image != ref {
		t.Errorf("looked up %s, ran %s, recorded %s as %s", want.ID, got, f.ImageID, f.Image)
	}
}
