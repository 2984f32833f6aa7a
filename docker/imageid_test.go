package docker_test

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"

	"batch.example/batch/fault"
	"batch.example/batch/sandbox/engine"
)

// A tag may move at any time: the image that was looked up must run.
func TestAMovedTagDoesNotChangeTheImageThatRuns(t *testing.T) {
	t.Parallel()
	api := raw(t)
	connect(t) // skips without an engine
	ref := ownImage()
	other := commit(t, "touch /moved")
	if err := api.ImageTag(t.Context(), testImage(t), ref); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = api.ImageRemove(context.Background(), ref, image.RemoveOptions{}) })
	e := connect(t)
	img, here, err := e.Image(t.Context(), ref, "")
	if err != nil || !here {
		t.Fatal(here, err)
	}
	if err := api.ImageTag(t.Context(), other, ref); err != nil {
		t.Fatal(err)
	}
	c := start(t, e, engine.Spec{Image: ref, ImageID: img.ID})
	if r := run(t, c, "ls -d /moved"); r.ExitCode == 0 {
		t.Error("the container has the image to which the tag has moved")
	}
	if c.ImageID() != img.ID {
		t.Errorf("the container reports image %s, want %s", c.ImageID(), img.ID)
	}
	owned, err := e.Owned(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(owned, func(s engine.Owned) bool { return s.ID == c.ID() && s.Image == ref }) {
		t.Errorf("no container of %s in %+v", ref, owned)
	}
	same, err := e.Attach(t.Context(), c.ID())
	if err != nil || same.ImageID() != img.ID {
		t.Errorf("attached to: %v, %v; want image ID %v, no error", same, err, img.ID)
	}
}

// commit returns the id of the test image after running a command in it.
func commit(t *testing.T, script string) string {
	t.Helper()
	c := start(t, connect(t), engine.Spec{})
	run(t, c, script)
	made, err := raw(t).ContainerCommit(t.Context(), c.ID(), container.CommitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = raw(t).ImageRemove(context.Background(), made.ID, image.RemoveOptions{Force: true})
	})
	return made.ID
}

// An image that somebody removed in between can be pulled again.
func TestAnImageRemovedBeforeCreateIsATransientFault(t *testing.T) {
	s := newEngineStub(t)
	e := s.connect(t, time.Hour)
	s.say("POST /containers/create", answer(http.StatusNotFound, map[string]string{"message": "No such image: " + stubID}))
	for id, want := range map[string]fault.Kind{"": fault.Instance, stubID: fault.Transient} {
		_, err := e.Create(t.Context(), engine.Spec{Image: stubImage, ImageID: id})
		if fault.KindOf(err) != want || fault.HintOf(err) == "" {
			t.Errorf("with id %q: got %v: %v; want fault kind %v, a hint", id, fault.KindOf(err), err, want)
		}
	}
}
