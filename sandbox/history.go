package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"batch.example/batch/imagecache"
	"batch.example/batch/internal/box"
	"batch.example/batch/internal/boxgit"
	"batch.example/batch/sandbox/engine"
)

// slowScrub is the shortest duration of a scrub with a shared outcome: a separate container
// takes nearly as long to start.
const slowScrub = 500 * time.Millisecond

// largeHistory is the smallest size in bytes of a scrubbed history that stays after the
// run.
const largeHistory = 32 << 20

// histories are the scrubbed git histories that the containers of a run share. They are not
// used if a command of the user runs before the scrub, or if the repository may not be the
// image's own.
type histories struct {
	volumes engine.Volumes // nil: nothing is shared
	images  *imagecache.Cache
	slow    time.Duration // a scrub that takes this long is shared
	large   int64         // bytes of a volume that later runs use too
	turns   chan struct{} // limits how many are made at the same time
	log     *slog.Logger

	// mu is also held while get asks the engine: two containers must not create a volume
	// for one key, and trim must not remove a volume that get has found and not entered
	// yet.
	mu    sync.Mutex
	byKey map[string]*history
}

// history is the scrubbed history of one image for one commit, in a volume of the engine.
// Containers have the volume from their start. Unless an earlier run has filled it, it is
// filled in a container of its own when the first container needs it.
type history struct {
	imagecache.History
	key   string
	users int           // containers that have or will have the volume; guarded by histories.mu
	turn  chan struct{} // held while the volume is filled
	done  bool          // it was filled, or cannot be; guarded by turn
	clean bool          // there is nothing to scrub, and the volume is empty; guarded by turn
}

func newHistories(e engine.Engine, images *imagecache.Cache, cpus int, log *slog.Logger) *histories {
	volumes, _ := e.(engine.Volumes)
	return &histories{
		volumes: volumes, images: images, slow: slowScrub, large: largeHistory, turns: make(chan struct{}, max(1, cpus)), log: log,
		byKey: map[string]*history{},
	}
}

// get returns the history under a key, with an existing volume, for a new container of the
// image. The caller calls leave when the container is gone. Without create, it only returns
// a history that an earlier run has kept. It is nil if there is none, or after a failure,
// which is logged.
func (s *histories) get(ctx context.Context, key, image string, create bool) *history {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.byKey[key]; h != nil {
		if !create && h.Used.IsZero() {
			return nil
		}
		h.users++
		return h
	}
	h := &history{key: key, users: 1, turn: make(chan struct{}, 1)}
	if err := s.find(ctx, h); err != nil {
		s.log.Warn("could not use the scrubbed git history that an earlier run has kept", "err", err)
		return nil
	}
	if !h.done {
		if !create {
			return nil
		}
		name, err := s.volumes.CreateVolume(ctx)
		if err != nil {
			s.log.Warn("could not create a volume for a scrubbed git history", "err", err)
			return nil
		}
		h.History = imagecache.History{Volume: name, Image: image}
	}
	s.byKey[key] = h
	return h
}

// find fills in the history that an earlier run has kept, if there is one, and saves that it
// is used now. Otherwise it might be the oldest one, which other runs remove.
func (s *histories) find(ctx context.Context, h *history) (err error) {
	if h.History, h.done = s.images.History(h.key); !h.done {
		return nil
	}
	if h.done, err = s.volumes.HasVolume(ctx, h.Volume); err != nil || !h.done {
		return err
	}
	if err := s.images.KeepHistory(h.key, h.History); err != nil {
		return fmt.Errorf("saving that volume %s is used: %w", h.Volume, err)
	}
	return nil
}

// leave counts a container with the history as gone. If no container has it and none is
// expected, the volume is kept for later runs, or removed if it is small or was not filled:
// otherwise a run of many images would fill the disk.
func (s *histories) leave(ctx context.Context, h *history, expected bool) {
	s.mu.Lock()
	h.users--
	last := h.users == 0 && !expected
	if last {
		delete(s.byKey, h.key)
	}
	s.mu.Unlock()
	if !last {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reapLimit)
	defer cancel()
	if err := s.keep(ctx, h); err != nil {
		s.log.Info("could not remove a volume; a later run tries again", "volume", h.Volume, "err", err)
	}
}

// remove keeps or removes the volumes that are left. All containers must have been removed
// before.
func (s *histories) remove(ctx context.Context) error {
	s.mu.Lock()
	left := slices.Collect(maps.Values(s.byKey))
	clear(s.byKey)
	s.mu.Unlock()
	var errs []error
	for _, h := range left {
		errs = append(errs, s.keep(ctx, h))
	}
	return errors.Join(errs...)
}

// keep keeps a volume that no container of this run uses any more for later runs, or removes
// it.
func (s *histories) keep(ctx context.Context, h *history) error {
	if h.Bytes < s.large {
		return s.volumes.RemoveVolume(ctx, h.Volume)
	}
	if err := s.images.KeepHistory(h.key, h.History); err != nil {
		return errors.Join(err, s.volumes.RemoveVolume(ctx, h.Volume))
	}
	_, err := s.trim(ctx)
	return err
}

// has reports whether a container of this run has or will have the volume.
func (s *histories) has(volume string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.byKey {
		if h.Volume == volume {
			return true
		}
	}
	return false
}

// trim removes expired volumes of earlier runs, and returns the names of the others.
func (s *histories) trim(ctx context.Context) (stay []string, err error) {
	stay, gone, err := s.images.Histories(ctx)
	errs := []error{err}
	for _, name := range gone {
		if s.has(name) { // its container may be about to be created, and will keep or remove it at its end
			stay = append(stay, name)
			continue
		}
		errs = append(errs, s.volumes.RemoveVolume(ctx, name))
	}
	return stay, errors.Join(errs...)
}

// reap removes the volumes of crashed runs, and expired ones.
func (s *histories) reap(ctx context.Context) error {
	if s.volumes == nil {
		return nil
	}
	keep, err := s.trim(ctx)
	if err == nil {
		_, err = s.volumes.ReapVolumes(ctx, keep)
	}
	return err
}

// scrubbing describes the scrub of a sandbox's repository.
type scrubbing struct {
	key     string   // under which the outcome is saved; empty: it is not saved
	known   bool     // there is nothing to remove
	history *history // shared with other containers; may be nil
}

// scrubKey returns a key of everything that the outcome of a scrub depends on.
func (h *Host) scrubKey(image imagecache.Image, o Opening) string {
	return strings.Join([]string{image.ID, boxgit.Version, boxgit.ID(o.Instance.BaseCommit), h.Container.WorkDir}, " ")
}

// scrubbing describes the scrub of the repository in a new container from an image. The
// outcome is shared if the scrub takes long and other instances of the run need it too, or if
// an earlier run has kept it.
func (h *Host) scrubbing(ctx context.Context, at *site, ref string, image imagecache.Image, o Opening) scrubbing {
	if !h.ShareScrubs || o.Pristine || at.histories.volumes == nil {
		return scrubbing{}
	}
	s := scrubbing{key: h.scrubKey(image, o)}
	note, noted := at.images.Note(s.key)
	s.known = note.Clean
	create := at.images.Sharing(ref, boxgit.ID(o.Instance.BaseCommit)) > 1 && (!noted || note.Seconds >= at.histories.slow.Seconds())
	if !s.known {
		s.history = at.histories.get(ctx, s.key, image.ID, create)
	}
	return s
}

// leaveHistory counts the container of a scrub as gone.
func (h *Host) leaveHistory(ctx context.Context, at *site, ref string, s scrubbing) {
	if s.history != nil {
		at.histories.leave(ctx, s.history, at.images.Expected(imagecache.Ref(ref, h.Container.Platform)))
	}
}

// volumes returns the volume in which the container finds the history.
func (s scrubbing) volumes(writable bool) []engine.Volume {
	if s.history == nil {
		return nil
	}
	return []engine.Volume{{Name: s.history.Volume, Path: boxgit.Shared, Writable: writable}}
}

// ShareScrub waits until a scrub of the same repository in another container has ended, if
// this sandbox shares its outcome. Clean means that there is nothing to remove. Without a
// shared outcome, the sandbox's own scrub does all the work.
func (s *Sandbox) ShareScrub(ctx context.Context) (clean bool) {
	h := s.scrub.history
	if h == nil {
		return s.scrub.known
	}
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return false
	}
	if h.done {
		return h.clean
	}
	clean, size, err := s.host.fill(ctx, s)
	if ctx.Err() != nil { // another sandbox will fill it
		return false
	}
	if err != nil {
		s.site.log.Warn("could not scrub a git history for several containers", "image", s.facts.Image.Ref, "err", err)
	}
	h.done, h.clean, h.Bytes = true, clean && err == nil, size
	return h.clean
}

// fill scrubs the history in a separate container, without any of the run's settings. Size
// is how many bytes are in the volume, on the disk; 0 if that is not sure.
func (h *Host) fill(ctx context.Context, s *Sandbox) (clean bool, size int64, err error) {
	select {
	case s.site.histories.turns <- struct{}{}:
		defer func() { <-s.site.histories.turns }()
	case <-ctx.Done():
		return false, 0, context.Cause(ctx)
	}
	c, err := s.site.engine.Create(ctx, engine.Spec{
		Name: "batch-scrub-" + strings.ToLower(rand.Text()[:8]), Image: s.facts.Image.Ref, ImageID: s.facts.Image.ID,
		Platform: h.Container.Platform, WorkDir: h.Container.WorkDir, User: "0", Unattended: scriptLimit,
		Volumes: s.scrub.volumes(true),
	})
	if err != nil {
		return false, 0, err
	}
	defer func() {
		if failed := c.Remove(ctx); failed != nil {
			s.site.log.Error("removing a container", "container", c.ID(), "err", failed)
		}
	}()
	res, err := c.Run(ctx, box.Command{
		Script:  boxgit.Command(s.baseCommit, boxgit.Share),
		Timeout: scriptLimit, Dir: h.Container.WorkDir,
	})
	if err != nil {
		return false, 0, err
	}
	report, err := boxgit.Read(res.Bytes, res.ExitCode)
	if err != nil {
		return false, 0, err
	}
	s.site.log.Info("scrubbed a git history for several containers", "image", s.facts.Image.Ref, "verdict", report.Verdict, "dur", res.Duration)
	clean = report.Verdict == boxgit.Clean
	s.site.remember(s.scrub.key, clean, res.Duration)
	// The history must survive a power failure, because later runs use it.
	res, err = c.Run(ctx, box.Command{Script: "sync -f " + boxgit.Shared + " && du -sk " + boxgit.Shared, Timeout: scriptLimit})
	if err == nil && res.ExitCode == 0 {
		kib, _, _ := strings.Cut(string(res.Bytes), "\t")
		n, _ := strconv.ParseInt(kib, 10, 64)
		size = n << 10
	}
	return clean, size, nil
}

// Scrubbed saves the result of scrubbing the repository: whether there was nothing to remove,
// see boxgit.Clean, and how long it took. A scrub that used the outcome of another one is not
// saved, because its time would mislead.
func (s *Sandbox) Scrubbed(clean bool, took time.Duration) {
	if s.scrub.key != "" && s.scrub.history == nil {
		s.site.remember(s.scrub.key, clean, took)
	}
}

// remember saves the result of a scrub. If that fails, the next run scrubs again.
func (s *site) remember(key string, clean bool, took time.Duration) {
	if err := s.images.Remember(key, imagecache.Note{Clean: clean, Seconds: took.Seconds()}); err != nil {
		s.log.Info("could not save the result of a scrub", "err", err)
	}
}
