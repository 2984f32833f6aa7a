package docker

import (
	"context"
	"errors"
	"strings"

	"batch.example/batch/docker/images"
	"batch.example/batch/fault"
	"batch.example/batch/sandbox/engine"
	cache "batch.example/batch/sandbox/images"
)

// Open connects to the engine that c names, as the engine of sandboxes.
func (c Config) Open(ctx context.Context, o engine.Options) (engine.Engine, error) {
	c.Patience, c.Pulls, c.PullTimeout, c.Builds, c.Before, c.Log = o.Patience, o.Pulls, o.PullTimeout, o.Builds, o.Before, o.Log
	e, err := Connect(ctx, c)
	if err != nil {
		return nil, err
	}
	return Sandboxes{e}, nil
}

// Sandboxes makes an Engine an [engine.Engine], with all that an engine may be able to do.
type Sandboxes struct{ *Engine }

// Create implements [engine.Engine].
func (e Sandboxes) Create(ctx context.Context, s engine.Spec) (engine.Container, error) {
	c, err := e.Engine.Create(ctx, s)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Attach implements [engine.Engine].
func (e Sandboxes) Attach(ctx context.Context, id string) (engine.Container, error) {
	c, err := e.Engine.Attach(ctx, id)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Tidy implements [engine.Tidier].
func (e Sandboxes) Tidy(ctx context.Context) (bool, error) {
	network, netErr := e.RemoveNetwork(ctx)
	helper, helperErr := e.Init.Remove(ctx)
	files, err := e.RemoveFiles(ctx)
	return network || helper || files, errors.Join(netErr, helperErr, err)
}

// ImageEngine implements [engine.Images].
func (e Sandboxes) ImageEngine() cache.Engine { return imageEngine(e) }

// The prefixes of the image names of the embedded demo, and of tasks that bring a Dockerfile. These
// images are built on this machine, so batch never pulls such a name: a registry could serve another
// image under it.
const (
	demoImages = "batch-demo/"
	taskImages = "batch-task/"
)

// imageEngine implements cache.Engine.
type imageEngine struct{ *Engine }

func cacheImage(img images.Image) cache.Image {
	return cache.Image{Image: img.Image, Size: img.Size, Names: len(img.Tags), Config: img.Config}
}

// Image implements cache.Engine.
func (e imageEngine) Image(ctx context.Context, ref string) (cache.Image, bool, error) {
	name, platform := cache.CutRef(ref)
	img, here, err := e.Engine.Image(ctx, name, platform)
	return cacheImage(img), here, err
}

// Pull implements cache.Engine.
func (e imageEngine) Pull(ctx context.Context, ref string, progress func(cache.Progress)) (cache.Image, error) {
	name, platform := cache.CutRef(ref)
	if strings.HasPrefix(name, demoImages) {
		return cache.Image{}, fault.Newf(fault.Instance, "image %s is not built", ref).
			WithHint("run scripts/demo-images, or make demo")
	}
	if _, built := e.Builds[name]; !built && strings.HasPrefix(name, taskImages) {
		return cache.Image{}, fault.Newf(fault.Instance, "image %s is not built", ref).
			WithHint("a run of its task builds it")
	}
	img, err := e.Engine.Pull(ctx, name, platform, progress)
	return cacheImage(img), err
}

// Layers implements cache.Engine.
func (e imageEngine) Layers(ctx context.Context, ref string) ([]cache.Layer, error) {
	name, platform := cache.CutRef(ref)
	return e.Engine.Layers(ctx, name, platform)
}

// IDs implements cache.Engine.
func (e imageEngine) IDs(ctx context.Context) (map[string]bool, error) {
	list, err := e.Images(ctx)
	ids := make(map[string]bool, len(list))
	for _, img := range list {
		ids[img.ID] = true
	}
	return ids, err
}

// Used implements cache.Engine.
func (e imageEngine) Used(ctx context.Context) (map[string]bool, error) { return e.UsedImages(ctx) }

// Remove implements cache.Engine.
func (e imageEngine) Remove(ctx context.Context, ref string) error {
	name, _ := cache.CutRef(ref)
	return e.RemoveImage(ctx, name)
}
