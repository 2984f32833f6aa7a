package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"batch.example/batch/agent/config"
	"batch.example/batch/docker"
	"batch.example/batch/imagecache"
	"batch.example/batch/internal/bash"
	"batch.example/batch/internal/gitscrub"
	"batch.example/batch/solver"
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

// knowsHistory reports whether what a scrub comes to depends on the image alone.
func knowsHistory(cfg *config.Config) bool {
	env := cfg.Environment
	flags := env.Flags()
	_, elsewhere := env.Env["GIT_DIR"]
	return !env.KeepGitHistory && cfg.Run.EnvStartupCommand == "" && flags.User == "" && !elsewhere &&
		flags.Env["GIT_DIR"] == "" && !slices.Contains(forwarded(env), "GIT_DIR")
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
func (s *sandboxes) scrubbedOf(image imagecache.Image, o solver.Opening) string {
	return strings.Join([]string{image.ID, gitscrub.Version, gitscrub.ID(o.Instance.BaseCommit), s.env.Cwd}, " ")
}

// base chooses what the instance's container is made of: the image, or where that
// pays one with its history scrubbed. It pays when the scrub takes long and the image
// was used before, or more instances of this run need it than can scrub at once.
func (s *sandboxes) base(ctx context.Context, ref string, image imagecache.Image, o solver.Opening) base {
	b := base{image: image.ID, release: func() {}}
	if s.scrubs == nil {
		return b
	}
	b.key = s.scrubbedOf(image, o)
	note, noted := s.images.Note(b.key)
	b.known = note.Clean
	id := gitscrub.ID(o.Instance.BaseCommit)
	whole := len(id) >= 40 || strings.TrimSpace(o.Instance.BaseCommit) == "" // else what else begins so may be gone
	if noted && !s.scrubs.pays(note) || !whole {
		return b
	}
	began := time.Now()
	d := imagecache.Derived{
		Ref: fmt.Sprintf("%s%.16x:latest", scrubbedName, sha256.Sum256([]byte(b.key))), Of: ref, OfID: image.ID,
	}
	var make func(context.Context) (imagecache.Image, error)
	if noted || s.images.Sharing(ref) > cap(s.scrubs.turns) {
		make = func(ctx context.Context) (imagecache.Image, error) { return s.scrubbed(ctx, d, b.key, o) }
	}
	scrubbed, release, err := s.images.Derive(ctx, d, make)
	b.waited = time.Since(began)
	switch {
	case err != nil: // the container, made of the image, meets what is wrong
		s.scrubs.log.Warn("an image with its history scrubbed cannot be had", "image", ref, "err", err)
	case release != nil:
		b.image, b.release = scrubbed.ID, release
		return b
	}
	note, noted = s.images.Note(b.key)
	b.known = note.Clean
	if make != nil && (!noted || s.scrubs.pays(note)) {
		s.scrubs.none.Store(b.key, true)
	}
	return b
}

// scrubbed makes d in a container of its own, that has nothing of the run's settings;
// none where that turns out not to pay.
func (s *sandboxes) scrubbed(ctx context.Context, d imagecache.Derived, key string, o solver.Opening) (img imagecache.Image, err error) {
	_, none := s.scrubs.none.Load(key)
	if n, ok := s.images.Note(key); none || ok && !s.scrubs.pays(n) {
		return img, nil // somebody has found out meanwhile
	}
	o.Report("scrub")
	select {
	case s.scrubs.turns <- struct{}{}:
		defer func() { <-s.scrubs.turns }()
	case <-ctx.Done():
		return img, context.Cause(ctx)
	}
	name, platform := imagecache.CutRef(d.Of)
	c, err := s.engine.Create(ctx, docker.Spec{
		Name: "batch-scrub-" + strings.ToLower(rand.Text()[:8]), Image: name, ImageID: d.OfID, Platform: platform,
		WorkDir: s.env.Cwd, Unattended: scriptLimit,
	})
	if err != nil {
		return img, err
	}
	defer func() {
		if failed := c.Remove(ctx); failed != nil {
			s.scrubs.log.Error("removing a container", "container", c.ID(), "err", failed)
		}
	}()
	res, err := c.Run(ctx, docker.Command{
		Script:  "bash -p -c " + bash.Quote(gitscrub.Script) + " gitscrub " + bash.Quote(gitscrub.ID(o.Instance.BaseCommit)) + " " + gitscrub.Scrub,
		Timeout: scriptLimit, Dir: s.env.Cwd,
	})
	if err != nil {
		return img, err
	}
	report, err := gitscrub.Read(res.Output, res.ExitCode)
	if err != nil {
		return img, err
	}
	note := s.remember(key, report.Verdict == gitscrub.Clean, res.Duration)
	if !s.scrubs.pays(note) {
		return img, nil
	}
	began := time.Now()
	made, err := c.Commit(ctx, d.Ref, map[string]string{labelScrubbed: key})
	s.scrubs.log.Info("made an image with its history scrubbed", "of", d.Of, "image", d.Ref, "scrub", res.Duration, "commit", time.Since(began), "err", err)
	return cacheImage(made), err
}

// pays reports whether a scrub that came to that is worth an image.
func (s *scrubs) pays(n imagecache.Note) bool { return !n.Clean && n.Seconds >= s.dear.Seconds() }

// remember notes what a scrub came to. Where it cannot be kept, the next one is made again.
func (s *sandboxes) remember(key string, clean bool, took time.Duration) imagecache.Note {
	n := imagecache.Note{Clean: clean, Seconds: took.Seconds()}
	if err := s.images.Remember(key, n); err != nil {
		s.scrubs.log.Info("what a scrub came to is not remembered", "err", err)
	}
	return n
}
