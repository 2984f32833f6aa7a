package sandbox

import (
	"context"

	"batch.example/batch/sandbox/engine"
	"batch.example/batch/sandbox/images"
	"batch.example/batch/vocab"
)

// imagesOf returns the images of an engine.
func imagesOf(e engine.Engine) images.Engine {
	if i, ok := e.(engine.Images); ok {
		return i.ImageEngine()
	}
	return unkept{}
}

// present reports which images an engine has.
func present(ctx context.Context, e engine.Engine, refs []string, platform string) (map[string]bool, error) {
	if i, ok := e.(engine.Images); ok {
		return i.Present(ctx, refs, platform)
	}
	all := map[string]bool{}
	for _, ref := range refs {
		all[ref] = true
	}
	return all, nil
}

// unkept implements images.Engine for an engine that keeps no images: each image is
// present when a container needs it.
type unkept struct{}

// Image implements images.Engine: an image's id is its name.
func (unkept) Image(_ context.Context, ref string) (images.Image, bool, error) {
	name, _ := images.CutRef(ref)
	return images.Image{Image: vocab.Image{Ref: ref, ID: name}, Names: 1}, true, nil
}

// Pull implements images.Engine.
func (u unkept) Pull(ctx context.Context, ref string, _ func(images.Progress)) (images.Image, error) {
	img, _, err := u.Image(ctx, ref)
	return img, err
}

// Layers implements images.Engine.
func (unkept) Layers(context.Context, string) ([]images.Layer, error) { return nil, nil }

// IDs implements images.Engine.
func (unkept) IDs(context.Context) (map[string]bool, error) { return nil, nil }

// Used implements images.Engine.
func (unkept) Used(context.Context) (map[string]bool, error) { return nil, nil }

// Remove implements images.Engine.
func (unkept) Remove(context.Context, string) error { return nil }

// DiskFree implements images.Engine.
func (unkept) DiskFree(context.Context) (free int64, known bool, err error) { return 0, false, nil }
