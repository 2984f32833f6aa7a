package sandbox

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"batch.example/batch/docker/containers"
	"batch.example/batch/imagecache"
	"batch.example/batch/internal/boxgit"
)

// slowScrub is how long a scrub must take for an image of its result to be worthwhile:
// making the image takes about as long again, and uses disk space.
const slowScrub = time.Second

const (
	// labelScrubbed marks an image with scrubbed history. Its value is everything that
	// the image depends on: see scrubKey.
	labelScrubbed = "batch.scrubbed"
	scrubbedName  = "batch-scrubbed/"
)

// scrubs decides whether to use the results of earlier scrubs of the same image, so that
// later ones are faster. They are not used if a command of the user runs before the scrub,
// or if the repository may not be the image's own.
type scrubs struct {
	slow  time.Duration // a scrub that takes this long is worth an image
	turns chan struct{} // limits how many images are made at the same time
	log   *slog.Logger
	none  sync.Map // keys of images that this run could not make, or had no space for
}

// base is the image from which a container is created.
type base struct {
	image   string // id
	known   bool   // the image is known to need no scrub
	waited  time.Duration
	release func()
	key     string // under which the result of a scrub is saved; empty: it is not saved
}

// scrubKey returns everything that an image with scrubbed history depends on.
func (h *Host) scrubKey(image imagecache.Image, o Opening) string {
	return strings.Join([]string{image.ID, boxgit.Version, boxgit.ID(o.Instance.BaseCommit), h.Container.WorkDir}, " ")
}

// base chooses the image from which the instance's container is created: the dataset's
// image, or one made from it with scrubbed history, if making that is worthwhile. It is
// worthwhile if the scrub takes long, and if either the image was used before or more
// instances of this run need it than can scrub at the same time.
func (h *Host) base(ctx context.Context, ref string, image imagecache.Image, o Opening) base {
	b := base{image: image.ID, release: func() {}}
	if !h.ShareScrubs {
		return b
	}
	b.key = h.scrubKey(image, o)
	note, noted := h.images.Note(b.key)
	b.known = note.Clean
	id := boxgit.ID(o.Instance.BaseCommit)
	// An abbreviated commit that is ambiguous before a scrub may not be ambiguous after it.
	whole := len(id) >= 40 || strings.TrimSpace(o.Instance.BaseCommit) == ""
	if noted && !h.scrubs.pays(note) || !whole {
		return b
	}
	began := time.Now()
	d := imagecache.Derived{
		Ref: fmt.Sprintf("%s%.16x:latest", scrubbedName, sha256.Sum256([]byte(b.key))), Of: ref, OfID: image.ID,
	}
	var make func(context.Context) (imagecache.Image, error)
	if noted || h.images.Sharing(ref) > cap(h.scrubs.turns) {
		o.Report("scrub") // also while another instance scrubs
		make = func(ctx context.Context) (imagecache.Image, error) { return h.scrubbed(ctx, d, b.key, o) }
	}
	scrubbed, release, err := h.images.Derive(ctx, d, make)
	if make != nil {
		b.waited = time.Since(began)
	}
	switch {
	case err != nil: // if the container cannot be created either, that error is reported
		h.scrubs.log.Warn("could not create an image with scrubbed history", "image", ref, "err", err)
	case release != nil:
		b.image, b.release = scrubbed.ID, release
		return b
	}
	note, noted = h.images.Note(b.key)
	b.known = note.Clean
	if make != nil && (!noted || h.scrubs.pays(note)) {
		h.scrubs.none.Store(b.key, true)
	}
	return b
}

// scrubbed makes d in a separate container, without any of the run's settings. It returns
// no image if the scrub is so fast that an image is not worthwhile.
func (h *Host) scrubbed(ctx context.Context, d imagecache.Derived, key string, o Opening) (img imagecache.Image, err error) {
	_, none := h.scrubs.none.Load(key)
	if n, ok := h.images.Note(key); none || ok && !h.scrubs.pays(n) {
		return img, nil // another instance has found this out meanwhile
	}
	select {
	case h.scrubs.turns <- struct{}{}:
		defer func() { <-h.scrubs.turns }()
	case <-ctx.Done():
		return img, context.Cause(ctx)
	}
	name, platform := imagecache.CutRef(d.Of)
	c, err := h.engine.Create(ctx, containers.Spec{
		Name: "batch-scrub-" + strings.ToLower(rand.Text()[:8]), Image: name, ImageID: d.OfID, Platform: platform,
		WorkDir: h.Container.WorkDir, Unattended: scriptLimit,
	})
	if err != nil {
		return img, err
	}
	defer func() {
		if failed := c.Remove(ctx); failed != nil {
			h.scrubs.log.Error("removing a container", "container", c.ID(), "err", failed)
		}
	}()
	res, err := c.Run(ctx, containers.Command{
		Script:  boxgit.Command(o.Instance.BaseCommit, boxgit.Scrub),
		Timeout: scriptLimit, Dir: h.Container.WorkDir,
	})
	if err != nil {
		return img, err
	}
	report, err := boxgit.Read(res.Bytes, res.ExitCode)
	if err != nil {
		return img, err
	}
	note := h.remember(key, report.Verdict == boxgit.Clean, res.Duration)
	if !h.scrubs.pays(note) {
		return img, nil
	}
	began := time.Now()
	made, err := c.Commit(ctx, d.Ref, map[string]string{labelScrubbed: key})
	h.scrubs.log.Info("created an image with scrubbed history", "of", d.Of, "image", d.Ref, "scrub", res.Duration, "commit", time.Since(began), "err", err)
	return cacheImage(made), err
}

// pays reports whether a scrub with this result is worth an image.
func (s *scrubs) pays(n imagecache.Note) bool { return !n.Clean && n.Seconds >= s.slow.Seconds() }

// remember saves the result of a scrub. If that fails, the next instance scrubs again.
func (h *Host) remember(key string, clean bool, took time.Duration) imagecache.Note {
	n := imagecache.Note{Clean: clean, Seconds: took.Seconds()}
	if err := h.images.Remember(key, n); err != nil {
		h.scrubs.log.Info("could not save the result of a scrub", "err", err)
	}
	return n
}
