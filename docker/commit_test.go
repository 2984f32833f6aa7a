package docker_test

import (
	"context"
	"slices"
	"testing"

	"github.com/docker/docker/client"

	"batch.example/batch/docker/containers"
)

func TestACommittedImageHasOnlyTheFilesOfItsContainer(t *testing.T) {
	t.Parallel()
	e := connect(t)
	name := ownImage()
	c := start(t, e, containers.Spec{
		WorkDir: "/tmp", Disk: 1 << 40, Labels: map[string]string{containers.LabelRun: "r", containers.LabelInstance: "i"},
	})
	if r, err := c.Run(t.Context(), containers.Command{Script: "echo kept > /made"}); err != nil || r.ExitCode != 0 {
		t.Fatalf("got %+v, %v; want exit code 0, no error", r, err)
	}
	t.Cleanup(func() {
		if err := e.RemoveImage(context.Background(), name); err != nil {
			t.Error(err)
		}
	})
	img, err := c.Commit(t.Context(), name, map[string]string{"batch.test": "x"})
	if err != nil || img.ID == c.ImageID() || !slices.Contains(img.Tags, name) {
		t.Fatalf("got %+v, %v; want ID other than %v, %v in the tags, no error", img, err, c.ImageID(), name)
	}
	api, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	was, err := api.ImageInspect(t.Context(), c.ImageID())
	if err != nil {
		t.Fatal(err)
	}
	is, err := api.ImageInspect(t.Context(), img.ID)
	if err != nil {
		t.Fatal(err)
	}
	for label, value := range is.Config.Labels {
		if value != was.Config.Labels[label] && label != "batch.test" {
			t.Errorf("label %s is %q, want %q as in the container", label, value, was.Config.Labels[label])
		}
	}
	if is.Config.Labels["batch.test"] != "x" || !slices.Equal(is.Config.Env, was.Config.Env) ||
		!slices.Equal(is.Config.Cmd, was.Config.Cmd) || !slices.Equal(is.Config.Entrypoint, was.Config.Entrypoint) {
		t.Errorf("got %+v, of %+v; want batch.test %q, env %v, cmd %v, entrypoint %v",
			is.Config, was.Config, "x", was.Config.Env, was.Config.Cmd, was.Config.Entrypoint)
	}
	again := start(t, e, containers.Spec{Image: name})
	if r, err := again.Run(t.Context(), containers.Command{Script: "cat /made"}); err != nil || string(r.Bytes) != "kept\n" {
		t.Errorf("got %+v, %v; want output %q, no error", r, err, "kept\n")
	}
}
