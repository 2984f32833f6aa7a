package sandbox

import (
	"context"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"batch.example/batch/internal/boxgit"
	"batch.example/batch/internal/retry"
	"batch.example/batch/sandbox/images"
)

// idleWindow is for how long a processor must have been idle before a scrub is begun ahead.
const idleWindow = time.Second

// scrubAhead finds out what the scrubs of the next images have to know, one image at a time, until
// ctx ends or all instances have begun. It begins one only if a processor of the engine is idle and
// its disk is not short, lets every other container go first, and ends it when its instance begins or
// another one lacks disk space. It does nothing on another machine, whose load is not seen. idle takes
// its time and reports whether a processor was idle.
func (s *site) scrubAhead(ctx context.Context, c Config, idle func(context.Context) bool) {
	if !c.ShareScrubs || !s.about.Local || s.histories.volumes == nil {
		return
	}
	tried := map[images.Need]bool{}
	for {
		next, ok := s.images.Ready(ctx, func(n images.Need) bool { return tried[n] })
		if !ok {
			return
		}
		if s.scrubReady(next, c, idle) {
			tried[next.Need] = true
		}
		next.End()
	}
}

// scrubReady scrubs an image ahead. It is false if no processor is idle.
func (s *site) scrubReady(next images.Ready, c Config, idle func(context.Context) bool) (tried bool) {
	what := scrubbing{key: c.scrubKey(next.Image, next.Commit)}
	_, noted := s.images.Note(what.key)
	// What several instances need, the first of them scrubs for all.
	if noted || s.images.Sharing(next.Ref, next.Commit) > 1 {
		return true
	}
	if !idle(next.Context) || s.short.lasts() {
		return false
	}
	began, spec := time.Now(), s.scrubSpec(c, next.Image)
	spec.Image, spec.Idle = next.Image.ID, true
	report, err := s.scrubApart(next.Context, what, next.Commit, boxgit.Scrub, spec)
	if err != nil {
		s.log.Info("could not scrub a git history ahead", "image", next.Ref, "err", err)
	} else {
		s.log.Info("scrubbed a git history ahead", "image", next.Ref, "verdict", report.Verdict, "dur", time.Since(began))
	}
	return true
}

// processorIdle reports whether the idle time of this machine's processors is nearly that of one.
func processorIdle(ctx context.Context) bool {
	return idleNow(ctx, os.DirFS("/proc"), idleWindow) >= 0.9
}

// idleNow returns how many of the machine's processors were idle for some time from now on; 0 if that
// is not known, or if ctx ends. proc is os.DirFS("/proc").
func idleNow(ctx context.Context, proc fs.FS, window time.Duration) float64 {
	idle, all, _ := processorTime(proc)
	if retry.Sleep(ctx, window) != nil {
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
