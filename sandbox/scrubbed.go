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

// dearScrub is how long a scrub takes that is worth an image: making one costs about
// as much again, and its disk.
const dearScrub = time.Second

const (
	// labelScrubbed says of an image that it is another one with its history scrubbed:
	// which one, by which script, and where.
	labelScrubbed = "batch.scrubbed"
	scrubbedName  = "batch-scrubbed/"
)

// scrubs knows what earlier scrubs of the same image came to, and spares later ones
// the work. Nothing is known where a command of the user's runs first, or where the
// repository may be another one than the image's own.
type scrubs struct {
	dear  time.Duration // that a scrub takes which is worth an image
	turns chan struct{} // of those who make an image
	log   *slog.Logger
	none  sync.Map // keys of images that this run could not make, or had no room for
}

// base is what a container is made of.
type base struct {
	image   string // id
	known   bool   // to need no scrub; of the image
	waited  time.Duration
	release func()
	key     string // what a scrub is remembered under; empty: it is not
}

// scrubbedOf says what an image with its history scrubbed depends on.
func (h *Host) scrubbedOf(image imagecache.Image, o Opening) string {
	return strings.Join([]string{image.ID, boxgit.Version, boxgit.ID(o.Instance.BaseCommit), h.Container.WorkDir}, " ")
}

// base chooses what the instance's container is made of: the image, or where that
// pays one with its history scrubbed. It pays when the scrub takes long and the image
// was used before, or more instances of this run need it than can scrub at once.
func (h *Host) base(ctx context.Context, ref string, image imagecache.Image, o Opening) base {
	b := base{image: image.ID, release: func() {}}
	if h.scrubs == nil {
		return b
	}
	b.key = h.scrubbedOf(image, o)
	note, noted := h.images.Note(b.key)
	b.known = note.Clean
	id := boxgit.ID(o.Instance.BaseCommit)
	whole := len(id) >= 40 || strings.TrimSpace(o.Instance.BaseCommit) == "" // else what else begins so may be gone
	if noted && !h.scrubs.pays(note) || !whole {
		return b
	}
	began := time.Now()
	d := imagecache.Derived{
		Ref: fmt.Sprintf("%s%.16x:latest", scrubbedName, sha256.Sum256([]byte(b.key))), Of: ref, OfID: image.ID,
	}
	var make func(context.Context) (imagecache.Image, error)
	if noted || h.images.Sharing(ref) > cap(h.scrubs.turns) {
		make = func(ctx context.Context) (imagecache.Image, error) { return h.scrubbed(ctx, d, b.key, o) }
	}
	scrubbed, release, err := h.images.Derive(ctx, d, make)
	b.waited = time.Since(began)
	switch {
	case err != nil: // the container, made of the image, meets what is wrong
		h.scrubs.log.Warn("an image with its history scrubbed cannot be had", "image", ref, "err", err)
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

// scrubbed makes d in a container of its own, that has nothing of the run's settings;
// none where that turns out not to pay.
func (h *Host) scrubbed(ctx context.Context, d imagecache.Derived, key string, o Opening) (img imagecache.Image, err error) {
	_, none := h.scrubs.none.Load(key)
	if n, ok := h.images.Note(key); none || ok && !h.scrubs.pays(n) {
		return img, nil // somebody has found out meanwhile
	}
	o.Report("scrub")
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
	h.scrubs.log.Info("made an image with its history scrubbed", "of", d.Of, "image", d.Ref, "scrub", res.Duration, "commit", time.Since(began), "err", err)
	return cacheImage(made), err
}

// pays reports whether a scrub that came to that is worth an image.
func (s *scrubs) pays(n imagecache.Note) bool { return !n.Clean && n.Seconds >= s.dear.Seconds() }

// remember notes what a scrub came to. Where it cannot be kept, the next one is made again.
func (h *Host) remember(key string, clean bool, took time.Duration) imagecache.Note {
	n := imagecache.Note{Clean: clean, Seconds: took.Seconds()}
	if err := h.images.Remember(key, n); err != nil {
		h.scrubs.log.Info("what a scrub came to is not remembered", "err", err)
	}
	return n
}
