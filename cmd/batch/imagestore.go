package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/docker/go-units"

	"batch.example/batch/dataset"
	"batch.example/batch/docker"
	"batch.example/batch/fault"
	"batch.example/batch/imagecache"
)

// demoImages is how the names of the embedded demo's images begin. They are
// built here and are in no registry; nobody may serve them under that name.
const demoImages = "batch-demo/"

// imageEngine is a docker engine as the image cache sees it.
type imageEngine struct{ *docker.Engine }

func cacheImage(img docker.Image) imagecache.Image {
	return imagecache.Image{ID: img.ID, Digest: img.Digest, Size: img.Size, Names: len(img.Tags)}
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
	img, err := e.Ensure(ctx, name, platform, func(p docker.PullProgress) {
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

// ledger opens the ledger of the images on engine. Where the user's state
// cannot be kept, it lies among the temporary files.
func (a *app) ledger(engine *docker.Engine, info docker.Info, log *slog.Logger) (*imagecache.Ledger, error) {
	// An engine is known by its machine and its data; two names of one machine
	// give two ledgers, in doubt for the user's images.
	sum := sha256.Sum256([]byte(engine.Host() + "\n" + info.Name + "\n" + info.RootDir))
	name := fmt.Sprintf("%x", sum[:8])
	state := a.getenv("XDG_STATE_HOME")
	if state == "" && a.home != "" {
		state = filepath.Join(a.home, ".local", "state")
	}
	if state != "" {
		l, err := imagecache.OpenLedger(filepath.Join(state, "batch", "images", name))
		if err == nil {
			return l, nil
		}
		log.Warn("which images batch pulled is remembered among the temporary files only", "err", err)
	}
	return imagecache.OpenLedger(filepath.Join(os.TempDir(), fmt.Sprintf("batch-state-%d", os.Getuid()), "images", name))
}

// parseSize reads a number of bytes as people write it: 50GB, 500m; 0 or
// nothing is none.
func parseSize(flag, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := units.FromHumanSize(text)
	if err != nil || n < 0 {
		return 0, fault.Newf(fault.Usage, "--%s %s: expected a size such as 50GB", flag, text)
	}
	return n, nil
}

// grouped orders instances so that those that share an image, or probably
// layers of it, run near each other: by repository, its version and the image.
func grouped(list []dataset.Instance, prefix string) []dataset.Instance {
	return imagecache.Group(list, func(in dataset.Instance) []string {
		image := in.ImageName(prefix)
		return []string{cmp.Or(in.Repo, imagecache.Repository(image)), in.Version, image}
	})
}

// needs is the plan of a run over list.
func needs(list []dataset.Instance, prefix, platform string) []imagecache.Need {
	out := make([]imagecache.Need, len(list))
	for i, in := range list {
		out[i] = imagecache.Need{ID: in.ID, Ref: imagecache.Ref(in.ImageName(prefix), platform)}
	}
	return out
}

// images returns the cache of this run's images, which pulls ahead until the
// run drains. The caller calls end when the last instance has ended.
func (s *sweep) images(
	ctx context.Context, engine *docker.Engine, info docker.Info, todo []dataset.Instance, drain <-chan struct{},
	d display, log *slog.Logger,
) (c *imagecache.Cache, end func(), err error) {
	ledger, err := s.ledger(engine, info, log)
	if err != nil {
		return nil, nil, err
	}
	c = imagecache.New(imageEngine{engine}, ledger, imagecache.Options{
		Budget: s.flags.budget, Reserve: s.flags.reserve, Ahead: s.flags.prefetch, Notify: d.say, Log: log,
	})
	c.Plan(needs(todo, s.flags.imagePrefix, s.cfg.Environment.Flags().Platform))
	ctx, cancel := context.WithCancel(ctx)
	var ahead sync.WaitGroup
	ahead.Go(func() { c.Prefetch(ctx) })
	ahead.Go(func() {
		select {
		case <-drain:
			cancel()
		case <-ctx.Done():
		}
	})
	return c, func() {
		cancel()
		ahead.Wait()
		if err := c.Close(); err != nil {
			log.Warn("writing the images' ledger", "err", err)
		}
	}, nil
}
