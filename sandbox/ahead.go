package sandbox

import (
	"context"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"batch.example/batch/imagecache"
	"batch.example/batch/internal/boxgit"
	"batch.example/batch/sandbox/engine"
)

// idleWindow is for how long a processor must have been idle before a scrub is begun ahead.
const idleWindow = time.Second

// scrubAhead finds out what the scrubs of the next images have to know, one image at a time, until
// ctx ends or all instances have begun. It begins one only if a processor of the engine is idle and
// its disk is not short, and lets every other container go first. It does nothing on another machine,
// whose load is not seen. idle takes its time and reports whether a processor was idle.
func (s *site) scrubAhead(ctx context.Context, c Config, idle func(context.Context) bool) {
	if !c.ShareScrubs || !s.about.Local || s.histories.volumes == nil {
		return
	}
	tried := map[imagecache.Need]bool{}
	for {
		n, image, ok := s.images.Ready(ctx, func(n imagecache.Need) bool { return tried[n] })
		if !ok {
			return
		}
		what := scrubbing{key: c.scrubKey(image, n.Commit)}
		_, noted := s.images.Note(what.key)
		// What several instances need, the first of them scrubs for all.
		if noted || s.images.Sharing(n.Ref, n.Commit) > 1 {
			tried[n] = true
			continue
		}
		if !idle(ctx) || s.short.lasts() {
			continue
		}
		tried[n] = true
		began := time.Now()
		report, err := s.scrubApart(ctx, what, n.Commit, boxgit.Scrub, engine.Spec{
			Image: image.ID, ImageID: image.ID, Platform: c.Container.Platform, WorkDir: c.Container.WorkDir, Idle: true,
		})
		if err != nil {
			s.log.Info("could not scrub a git history ahead", "image", n.Ref, "err", err)
			continue
		}
		s.log.Info("scrubbed a git history ahead", "image", n.Ref, "verdict", report.Verdict, "dur", time.Since(began))
	}
}

// processorIdle reports whether a processor of this machine is idle.
func processorIdle(ctx context.Context) bool { return idleNow(ctx, os.DirFS("/proc"), idleWindow) >= 1 }

// idleNow returns how many of the machine's processors were idle for some time from now on; 0 if that
// is not known, or if ctx ends. proc is os.DirFS("/proc").
func idleNow(ctx context.Context, proc fs.FS, window time.Duration) float64 {
	idle, all, _ := processorTime(proc)
	select {
	case <-time.After(window):
	case <-ctx.Done():
		return 0
	}
	idleThen, allThen, processors := processorTime(proc)
	if allThen <= all {
		return 0
	}
	return (idleThen - idle) / (allThen - all) * float64(processors)
}

// processorTime returns how much time all processors have been idle, and all of their time, in the
// kernel's unit, and how many there are.
func processorTime(proc fs.FS) (idle, all float64, processors int) {
	data, err := fs.ReadFile(proc, "stat")
	if err != nil {
		return 0, 0, 0
	}
	line, _, _ := strings.Cut(string(data), "\n")
	for i, field := range strings.Fields(line) { // cpu user nice system idle ...: proc(5)
		t, err := strconv.ParseFloat(field, 64)
		if err != nil {
			continue
		}
		if all += t; i == 4 {
			idle = t
		}
	}
	return idle, all, strings.Count(string(data), "\ncpu")
}
