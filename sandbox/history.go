package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"batch.example/batch/internal/box"
	"batch.example/batch/internal/boxgit"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/sandbox/images"
	"batch.example/batch/vocab"
)

// slowScrub is the shortest duration of a scrub with a shared outcome: a separate container
// takes nearly as long to start.
const slowScrub = 500 * time.Millisecond

// histories are the scrubbed git histories that the containers of a run share. They are not
// used if a command of the user runs before the scrub, or if the repository may not be the
// image's own.
type histories struct {
	volumes engine.Volumes // nil: nothing is shared
	slow    time.Duration  // a scrub that takes this long is shared
	turns   chan struct{}  // limits how many are made at the same time
	log     *slog.Logger

	// mu is also held while get asks the engine: two containers must not create a volume
	// for one key.
	mu    sync.Mutex
	byKey map[string]*history
}

// history is the scrubbed history of one image for one commit, in a volume of the engine.
// Containers have the volume from their start. It is filled in a container of its own when the
// first container needs it.
type history struct {
	key    string
	volume string
	users  int           // containers that have or will have the volume; guarded by histories.mu
	turn   chan struct{} // held while the volume is filled
	done   bool          // it was filled, or cannot be; guarded by turn
	clean  bool          // there is nothing to scrub, and the volume is empty; guarded by turn
}

func newHistories(e engine.Engine, cpus int, log *slog.Logger) *histories {
	volumes, _ := e.(engine.Volumes)
	return &histories{
		volumes: volumes, slow: slowScrub, turns: make(chan struct{}, max(1, cpus)), log: log,
		byKey: map[string]*history{},
	}
}

// get returns the history under a key, with an existing volume, for a new container of an
// image. The caller calls leave when the container is gone. It is nil after a failure, which is
// logged.
func (s *histories) get(ctx context.Context, key string) *history {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.byKey[key]; h != nil {
		h.users++
		return h
	}
	name, err := s.volumes.CreateVolume(ctx)
	if err != nil {
		s.log.Warn("could not create a volume for a scrubbed git history", "err", err)
		return nil
	}
	h := &history{key: key, volume: name, users: 1, turn: make(chan struct{}, 1)}
	s.byKey[key] = h
	return h
}

// leave counts a container with the history as gone. If no container has it and none is
// expected, the volume is removed: otherwise a run of many images would fill the disk.
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
	if err := s.volumes.RemoveVolume(ctx, h.volume); err != nil {
		s.log.Info("could not remove a volume; a later run tries again", "volume", h.volume, "err", err)
	}
}

// remove removes the volumes that are left. All containers must have been removed
// before.
func (s *histories) remove(ctx context.Context) error {
	s.mu.Lock()
	left := slices.Collect(maps.Values(s.byKey))
	clear(s.byKey)
	s.mu.Unlock()
	var errs []error
	for _, h := range left {
		errs = append(errs, s.volumes.RemoveVolume(ctx, h.volume))
	}
	return errors.Join(errs...)
}

// reap removes the volumes of crashed runs.
func (s *histories) reap(ctx context.Context) error {
	if s.volumes == nil {
		return nil
	}
	_, err := s.volumes.ReapVolumes(ctx)
	return err
}

// scrubbing describes the scrub of a sandbox's repository.
type scrubbing struct {
	key     string   // under which the outcome is saved; empty: it is not saved
	known   bool     // there is nothing to remove
	outcome string   // what an earlier scrub has found out; may be empty
	history *history // shared with other containers; may be nil
}

// scrubKey returns a key of everything that the outcome of a scrub depends on.
func (c Config) scrubKey(image images.Image, commit string) string {
	return strings.Join([]string{image.ID, boxgit.Version, boxgit.ID(commit), c.Container.WorkDir}, " ")
}

// scrubbing describes the scrub of the repository in a new container from an image. Its objects
// are shared if the scrub takes long and other instances of the run need them too.
func (h *Host) scrubbing(ctx context.Context, at *site, ref string, image images.Image, o Opening) scrubbing {
	if !h.ShareScrubs || o.Pristine || at.histories.volumes == nil {
		return scrubbing{}
	}
	s := scrubbing{key: h.scrubKey(image, o.Instance.BaseCommit)}
	note, noted := at.images.Note(s.key)
	s.known = note.Clean
	share := at.images.Sharing(ref, boxgit.ID(o.Instance.BaseCommit)) > 1 && (!noted || note.Seconds >= at.histories.slow.Seconds())
	if !s.known {
		s.outcome = at.images.Outcome(s.key)
		if share {
			s.history = at.histories.get(ctx, s.key)
		}
	}
	return s
}

// leaveHistory counts the container of a scrub as gone.
func (h *Host) leaveHistory(ctx context.Context, at *site, ref string, s scrubbing) {
	if s.history != nil {
		at.histories.leave(ctx, s.history, at.images.Expected(images.Ref(ref, h.Container.Platform)))
	}
}

// volumes returns the volume in which the container finds the history.
func (s scrubbing) volumes(writable bool) []engine.Volume {
	if s.history == nil {
		return nil
	}
	return []engine.Volume{{Name: s.history.volume, Path: boxgit.Shared, Writable: writable}}
}

// ShareScrub waits until a scrub of the same repository in another container has ended, if
// this sandbox shares its outcome. Clean means that there is nothing to remove. Without a
// shared outcome, the sandbox's own scrub does all the work that an earlier one has not saved.
func (s *Sandbox) ShareScrub(ctx context.Context) (clean bool) {
	h := s.scrub.history
	if h == nil {
		s.scrub.recall(ctx, s.site.log, s.container)
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
	clean, err := s.host.fill(ctx, s)
	if ctx.Err() != nil { // another sandbox will fill it
		return false
	}
	if err != nil {
		s.site.log.Warn("could not scrub a git history for several containers", "image", s.facts.Image.Ref, "err", err)
	}
	h.done, h.clean = true, clean && err == nil
	return h.clean
}

// recall copies what an earlier scrub has found out into a container that is about to scrub.
func (s scrubbing) recall(ctx context.Context, log *slog.Logger, c engine.Container) {
	if s.outcome == "" {
		return
	}
	if err := c.CopyIn(ctx, boxgit.OutcomeFile, 0o600, []byte(s.outcome)); err != nil && ctx.Err() == nil {
		log.Info("could not use what an earlier scrub has found out", "err", err)
	}
}

// fill scrubs the history in a separate container, for several sandboxes.
func (h *Host) fill(ctx context.Context, s *Sandbox) (clean bool, err error) {
	select {
	case s.site.histories.turns <- struct{}{}:
		defer func() { <-s.site.histories.turns }()
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	report, err := s.site.scrubApart(ctx, s.scrub, s.baseCommit, boxgit.Share, s.site.scrubSpec(h.Config, images.Image{Image: s.facts.Image}))
	if err == nil {
		s.site.log.Info("scrubbed a git history for several containers", "image", s.facts.Image.Ref, "verdict", report.Verdict)
	}
	return report.Verdict == boxgit.Clean, err
}

// scrubSpec describes a container that scrubs apart: it has the limits of the run's containers, and
// neither their network nor what they get of the user.
func (s *site) scrubSpec(c Config, image images.Image) engine.Spec {
	spec := c.containerOn(s)
	spec.Image, spec.ImageID = image.Ref, image.ID
	spec.Env, spec.Network, spec.ExtraHosts, spec.CapAdd, spec.Mounts = nil, "", nil, nil, nil
	return spec
}

// scrubApart scrubs a history in a container that is removed afterwards, and saves what it has found
// out.
func (s *site) scrubApart(ctx context.Context, what scrubbing, commit, mode string, spec engine.Spec) (boxgit.Report, error) {
	spec.Name, spec.User, spec.Unattended = "batch-scrub-"+strings.ToLower(rand.Text()[:8]), "0", scriptLimit
	spec.Volumes = what.volumes(true)
	c, err := s.engine.Create(ctx, spec)
	if err != nil {
		return boxgit.Report{}, err
	}
	defer func() {
		if failed := c.Remove(ctx); failed != nil {
			s.log.Error("removing a container", "container", c.ID(), "err", failed)
		}
	}()
	what.recall(ctx, s.log, c)
	res, err := c.Run(ctx, box.Command{Script: boxgit.Command(commit, mode), Timeout: scriptLimit, Dir: spec.WorkDir})
	if err != nil {
		return boxgit.Report{}, err
	}
	report, err := boxgit.Read(res.Bytes, res.ExitCode)
	if err == nil {
		s.remember(what.key, report, res.Duration)
	}
	return report, err
}

// Scrubbed saves what a scrub of the repository has found out, and how long it took. The time
// of a scrub that used another container's volume is not saved, because it would mislead.
func (s *Sandbox) Scrubbed(report boxgit.Report, took time.Duration) {
	if s.scrub.key != "" && s.scrub.history == nil {
		s.site.remember(s.scrub.key, report, took)
	}
}

// maxBase bounds what is saved of a comparison, in bytes.
const maxBase = 32 << 10

// Checked returns what ask prints, which compares the repository with the row's base_commit:
// or, without asking, what it printed in another container of the image. It waits for one that
// asks.
func (s *Sandbox) Checked(ctx context.Context, ask func() (vocab.Output, error)) (vocab.Output, error) {
	if s.scrub.key == "" {
		return ask()
	}
	key := s.scrub.key + " base"
	turn, _ := s.site.checks.LoadOrStore(key, make(chan struct{}, 1))
	select {
	case turn.(chan struct{}) <- struct{}{}:
		defer func() { <-turn.(chan struct{}) }()
	case <-ctx.Done():
		return vocab.Output{}, context.Cause(ctx)
	}
	if note, _ := s.site.images.Note(key); note.Base != "" {
		return vocab.Output{Bytes: []byte(note.Base)}, nil
	}
	out, err := ask()
	if err == nil && out.ExitCode == 0 && len(out.Bytes) <= maxBase && boxgit.ReadBase(out.Bytes, 0).Head != "" {
		if err := s.site.images.Remember(key, images.Note{Base: string(out.Bytes)}); err != nil {
			s.site.log.Info("could not save what commit an image is at", "err", err)
		}
	}
	return out, err
}

// remember saves the result of a scrub. If that fails, the next run scrubs again.
func (s *site) remember(key string, report boxgit.Report, took time.Duration) {
	err := s.images.Remember(key, images.Note{Clean: report.Verdict == boxgit.Clean, Seconds: took.Seconds()})
	if report.Outcome != "" {
		err = errors.Join(err, s.images.KeepOutcome(key, report.Outcome))
	}
	if err != nil {
		s.log.Info("could not save the result of a scrub", "err", err)
	}
}
