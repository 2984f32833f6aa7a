package docker_test

import (
	"context"
	"slices"
	"testing"

	"github.com/docker/docker/client"

	"batch.example/batch/docker/containers"
)

func TestACommittedImageHasTheFilesAndNothingElseOfItsContainer(t *testing.T) {
	t.Parallel()
	e := connect(t)
	const name = "batch-test/committed:1"
	c := start(t, e, containers.Spec{
		WorkDir: "/tmp", Disk: 1 << 40, Labels: map[string]string{containers.LabelRun: "r", containers.LabelInstance: "i"},
	})
	if r, err := c.Run(t.Context(), containers.Command{Script: "echo kept > /made"}); err != nil || r.ExitCode != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	t.Cleanup(func() {
		if err := e.RemoveImage(context.Background(), name); err != nil {
			t.Error(err)
		}
	})
	img, err := c.Commit(t.Context(), name, map[string]string{"batch.test": "x"})
	if err != nil || img.ID == c.ImageID() || !slices.Contains(img.Tags, name) {
		t.Fatalf("%+v, %v", img, err)
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
			t.Errorf("label %s is %q", label, value)
		}
	}
	if is.Config.Labels["batch.test"] != "x" || !slices.Equal(is.Config.Env, was.Config.Env) ||
		!slices.Equal(is.Config.Cmd, was.Config.Cmd) || !slices.Equal(is.Config.Entrypoint, was.Config.Entrypoint) {
		t.Errorf("%+v, of %+v", is.Config, was.Config)
	}
	again := start(t, e, containers.Spec{Image: name})
	if r, err := again.Run(t.Context(), containers.Command{Script: "cat /made"}); err != nil || string(r.Bytes) != "kept\n" {
		t.Errorf("%+v, %v", r, err)
	}
}
