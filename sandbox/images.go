package sandbox

import (
	"context"

	"batch.example/batch/imagecache"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/vocab"
)

// imagesOf returns the images of an engine.
func imagesOf(e engine.Engine) imagecache.Engine {
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

// unkept implements imagecache.Engine for an engine that keeps no images: each image is
// present when a container needs it.
type unkept struct{}

// Image implements imagecache.Engine: an image's id is its name.
func (unkept) Image(_ context.Context, ref string) (imagecache.Image, bool, error) {
	name, _ := imagecache.CutRef(ref)
	return imagecache.Image{Image: vocab.Image{Ref: ref, ID: name}, Names: 1}, true, nil
}

// Pull implements imagecache.Engine.
func (u unkept) Pull(ctx context.Context, ref string, _ func(imagecache.Progress)) (imagecache.Image, error) {
	img, _, err := u.Image(ctx, ref)
	return img, err
}

// Layers implements imagecache.Engine.
func (unkept) Layers(context.Context, string) ([]imagecache.Layer, error) { return nil, nil }

// IDs implements imagecache.Engine.
func (unkept) IDs(context.Context) (map[string]bool, error) { return nil, nil }

// Used implements imagecache.Engine.
func (unkept) Used(context.Context) (map[string]bool, error) { return nil, nil }

// Remove implements imagecache.Engine.
func (unkept) Remove(context.Context, string) error { return nil }

// DiskFree implements imagecache.Engine.
func (unkept) DiskFree(context.Context) (free int64, known bool, err error) { return 0, false, nil }
