package containers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/docker/docker/api/types/container"

	"batch.example/batch/docker/images"
	"batch.example/batch/fault"
)

// Commit creates an image of the container's files as they are now, with that name and
// these labels. Its settings are those of the image that the container was created from,
// without any of the container's own. On a failure the image does not exist; an earlier
// image of that name may be gone.
func (c *Container) Commit(ctx context.Context, name string, labels map[string]string) (images.Image, error) {
	op := "creating an image from container " + c.short()
	settings, err := c.settings(ctx, labels)
	if err != nil {
		return images.Image{}, c.engine.Blame(err, fault.Transient, op)
	}
	// An image that the engine creates after the caller has hung up would stay forever.
	_, err = c.engine.API.ContainerCommit(context.WithoutCancel(ctx), c.id, container.CommitOptions{Reference: name, Config: settings})
	if err == nil {
		var img images.Image
		if img, err = c.committed(ctx, name, labels); err == nil {
			return img, nil
		}
	}
	_ = c.fleet.images.RemoveImage(context.WithoutCancel(ctx), name) // report the first failure
	return images.Image{}, c.engine.Blame(err, fault.Transient, op)
}

// settings returns the settings of the container's image, with labels. The engine adds
// missing ones from the container, but keeps a label or command that is set and empty.
func (c *Container) settings(ctx context.Context, labels map[string]string) (*container.Config, error) {
	image, err := c.engine.API.ImageInspect(ctx, c.imageID)
	if err != nil {
		return nil, err
	}
	in, err := c.engine.API.ContainerInspect(ctx, c.id)
	if err != nil {
		return nil, err
	}
	var settings container.Config
	text, err := json.Marshal(image.Config) // another type, with the same members
	if err == nil {
		err = json.Unmarshal(text, &settings)
	}
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for name := range in.Config.Labels {
		all[name] = ""
	}
	maps.Copy(all, settings.Labels)
	maps.Copy(all, labels)
	settings.Labels = all
	if settings.Entrypoint == nil {
		settings.Entrypoint = []string{}
	}
	return &settings, nil
}

// committed looks up the new image and checks its labels: not every engine applies them.
func (c *Container) committed(ctx context.Context, name string, labels map[string]string) (images.Image, error) {
	img, here, err := c.fleet.images.Image(ctx, name, "")
	if err != nil {
		return images.Image{}, err
	}
	in, err := c.engine.API.ImageInspect(ctx, name)
	if err != nil {
		return images.Image{}, err
	}
	for label, value := range labels {
		if !here || in.Config == nil || in.Config.Labels[label] != value {
			return images.Image{}, fmt.Errorf("image %s: %w", name, errUnlabeled)
		}
	}
	return img, nil
}

var errUnlabeled = errors.New("the engine did not set its labels")
