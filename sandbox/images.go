package sandbox

import (
	"context"
	"strings"

	"batch.example/batch/docker"
	"batch.example/batch/docker/images"
	"batch.example/batch/fault"
	"batch.example/batch/imagecache"
)

// demoImages is the prefix of the image names of the embedded demo. These images are built
// on this machine, so batch never pulls such a name: a registry could serve another image
// under it.
const demoImages = "batch-demo/"

// imageEngine implements imagecache.Engine with a docker engine.
type imageEngine struct{ *docker.Engine }

func cacheImage(img images.Image) imagecache.Image {
	return imagecache.Image{Image: img.Image, Size: img.Size, Names: len(img.Tags)}
}

// Image implements imagecache.Engine.
func (e imageEngine) Image(ctx context.Context, ref string) (imagecache.Image, bool, error) {
	name, platform := imagecache.CutRef(ref)
	img, here, err := e.Engine.Image(ctx, name, platform)
	return cacheImage(img), here, err
}

// Pull implements imagecache.Engine.
func (e imageEngine) Pull(ctx context.Context, ref string, progress func(imagecache.Progress)) (imagecache.Image, error) {
	name, platform := imagecache.CutRef(ref)
	if strings.HasPrefix(name, demoImages) {
		return imagecache.Image{}, fault.Newf(fault.Instance, "image %s is not built", ref).
			WithHint("run scripts/demo-images, or make demo")
	}
	img, err := e.Ensure(ctx, name, platform, func(p images.PullProgress) {
		if progress != nil {
			progress(imagecache.Progress{Current: p.Current, Total: p.Total})
		}
	})
	return cacheImage(img), err
}

// Layers implements imagecache.Engine.
func (e imageEngine) Layers(ctx context.Context, ref string) ([]imagecache.Layer, error) {
	name, platform := imagecache.CutRef(ref)
	list, err := e.Engine.Layers(ctx, name, platform)
	out := make([]imagecache.Layer, len(list))
	for i, l := range list {
		out[i] = imagecache.Layer{ID: l.ID, Size: l.Size}
	}
	return out, err
}

// IDs implements imagecache.Engine.
func (e imageEngine) IDs(ctx context.Context) (map[string]bool, error) {
	list, err := e.Images(ctx)
	ids := make(map[string]bool, len(list))
	for _, img := range list {
		ids[img.ID] = true
	}
	return ids, err
}

// Used implements imagecache.Engine.
func (e imageEngine) Used(ctx context.Context) (map[string]bool, error) { return e.UsedImages(ctx) }

// Remove implements imagecache.Engine.
func (e imageEngine) Remove(ctx context.Context, ref string) error {
	name, _ := imagecache.CutRef(ref)
	return e.RemoveImage(ctx, name)
}

// ImageEngine returns engine as the Engine of an image cache.
func ImageEngine(engine *docker.Engine) imagecache.Engine { return imageEngine{engine} }
