package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/docker/go-units"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/box"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/sandbox/images"
	"batch.example/batch/vocab"
)

// space is the disk on which an engine keeps its containers' files, in bytes. Inodes count as the
// bytes that there are for each on the disk, so that a disk without free inodes is full.
type space struct{ free, total, perFile int64 }

// spaceScript prints what [parseSpace] reads. The root of a container has the free space of the
// engine's disk or, where the container has a quota, of the quota.
const spaceScript = "stat -f -c '%S %a %b %d %c' /"

func parseSpace(out vocab.Output) (s space, known bool) {
	var size, free, total, freeFiles, files int64
	n, _ := fmt.Sscan(string(out.Bytes), &size, &free, &total, &freeFiles, &files)
	if out.ExitCode != 0 || n < 5 || size <= 0 || total <= 0 {
		return space{}, false
	}
	s = space{free: size * free, total: size * total}
	if files > 0 { // otherwise there is no limit
		s.perFile = s.total / files
		s.free = min(s.free, freeFiles*s.perFile)
	}
	return s, true
}

// missing is how many bytes the disk has less than least, or than a tenth of a small disk.
func (s space) missing(least int64) int64 {
	if s.total > 0 {
		least = min(least, s.total/10)
	}
	return max(0, least-s.free)
}

const (
	fullSpace  = 64 << 20        // bytes; with fewer, an engine's disk is full
	spaceLimit = time.Minute     // for measuring it
	spaceStale = 2 * time.Second // how old a measurement may be
)

// shortage is that an engine was found to be short of disk space.
type shortage struct {
	mu      sync.Mutex
	measure func(context.Context) (space, bool) // nil: the engine is not short
	last    space
	known   bool
	at      time.Time // of last
}

// look measures the space anew, in the way that found the shortage. It is not known if there was none
// or it has ended.
func (sh *shortage) look(ctx context.Context, least int64) (s space, known bool) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.measure == nil {
		return space{}, false
	}
	sh.again(ctx, sh.measure)
	if !sh.known || sh.last.missing(least) == 0 {
		sh.measure = nil
		return space{}, false
	}
	return sh.last, true
}

func (sh *shortage) again(ctx context.Context, measure func(context.Context) (space, bool)) {
	if time.Since(sh.at) > spaceStale {
		sh.last, sh.known = measure(ctx)
		sh.at = time.Now()
	}
}

// begin measures the space, and remembers how if it is short.
func (sh *shortage) begin(ctx context.Context, least int64, measure func(context.Context) (space, bool)) (s space, known bool) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.again(ctx, measure)
	if sh.known && sh.last.missing(least) > 0 {
		sh.measure = measure
	}
	return sh.last, sh.known
}

// changed says that the last measurement is not true any more.
func (sh *shortage) changed() {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.at = time.Time{}
}

// lasts reports whether the engine was found to be short, and not so long ago that it should be tried
// again.
func (sh *shortage) lasts() bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.measure != nil && time.Since(sh.at) < spaceLimit
}

// measuredImages are an engine's images, whose free space is also measured in a container while the
// engine is known to be short: batch may not see the engine's disk.
type measuredImages struct {
	images.Engine
	short   *shortage
	reserve int64
}

// DiskFree implements [images.Engine].
func (m measuredImages) DiskFree(ctx context.Context) (free int64, known bool, err error) {
	free, known, err = m.Engine.DiskFree(ctx)
	if s, short := m.short.look(ctx, max(fullSpace, m.reserve)); short && err == nil {
		return s.free, true, nil
	}
	return free, known, err
}

// freeNow returns the free space that the sandbox's container reports. Once a command of the agent has
// run, the agent may have forged the report.
func (s *Sandbox) freeNow(ctx context.Context) (now space, known bool, own *vocab.DiskUse) {
	if _, ok := s.container.(engine.Sized); !ok {
		return space{}, false, nil
	}
	out, err := s.container.Run(ctx, box.Command{Script: spaceScript, Timeout: spaceLimit})
	if err != nil {
		return space{}, false, nil
	}
	now, known = parseSpace(out)
	return now, known, out.Disk
}

// measure measures the space in a new container of the sandbox's image, which no agent has changed,
// and which has its own quota if containers have one.
func (s *Sandbox) measure(ctx context.Context) (space, bool) {
	ctx, cancel := context.WithTimeout(ctx, spaceLimit)
	defer cancel()
	spec := s.host.spec(s.site, s.facts.Image.Ref, s.facts.Image.ID, Opening{Instance: dataset.Instance{ID: s.instance}, Pristine: true})
	c, err := s.site.engine.Create(ctx, spec)
	if errors.Is(err, syscall.ENOSPC) {
		return space{total: s.began.total, perFile: s.began.perFile}, true
	}
	if err != nil {
		s.site.log.Info("could not measure the engine's disk", "err", err)
		return space{}, false
	}
	defer func() {
		if err := c.Remove(context.WithoutCancel(ctx)); err != nil {
			s.site.log.Warn("removing a container", "container", c.ID(), "err", err)
		}
	}()
	out, err := c.Run(ctx, box.Command{Script: spaceScript})
	if err != nil {
		return space{}, false
	}
	return parseSpace(out)
}

// noSpaceTexts are in what programs print when a write failed for a full disk.
var noSpaceTexts = [][]byte{[]byte("o space left on device"), []byte("ENOSPC"), []byte("isk quota exceeded"), []byte("disk is full")}

func saysNoSpace(out []byte) bool {
	for _, text := range noSpaceTexts {
		if bytes.Contains(out, text) {
			return true
		}
	}
	return false
}

// spoiled returns a fault if the engine's disk is full, so that the output may be a failure of the
// engine's and not of the command. The sandbox cannot be used any more then: its files may be broken,
// and the output would be returned again. For an output that says so, a disk below the reserve is full.
// Outputs that say nothing of it are only checked after a failure, and if they are relied on, as a
// submission is.
//
// A container that exceeds its own limit, or that has taken most of what went since it began, and without
// which there would be enough, is not the engine's failure: an agent could otherwise cause one at will.
func (s *Sandbox) spoiled(ctx context.Context, out *vocab.Output, reliedOn bool) error {
	sized, ok := s.container.(engine.Sized)
	says := saysNoSpace(out.Bytes)
	if !ok || out.Disk != nil || out.ExitCode == 0 && !reliedOn && !says {
		return nil
	}
	least := int64(fullSpace)
	if says {
		least = max(least, s.host.Images.Reserve)
	} else if free, known, _ := imagesOf(s.site.engine).DiskFree(ctx); known && free >= least && !reliedOn {
		return nil // a failure is common, and this costs nothing
	}
	now, known, above := s.freeNow(ctx)
	if above != nil { // meanwhile it exceeded its own limit, which the model has to be told
		out.Disk = above
		out.Note = note(*out)
		return nil
	}
	if known && now.missing(least) == 0 {
		return nil
	}
	now, known = s.site.short.begin(ctx, least, s.measure)
	missing := now.missing(least)
	if !known || missing == 0 {
		return nil
	}
	own, files, err := sized.OwnFiles(ctx)
	if err != nil {
		s.site.log.Info("could not measure a container's files", "container", s.facts.Container, "err", err)
	}
	if own = max(own, files*now.perFile); own >= missing && 2*own >= s.began.free-now.free {
		s.site.log.Warn("a container has filled the engine's disk", "instance", s.instance, "container", s.facts.Container, "bytes", own)
		return nil
	}
	if err := s.container.Remove(context.WithoutCancel(ctx)); err != nil {
		s.site.log.Error("removing a container", "instance", s.instance, "container", s.facts.Container, "err", err)
	}
	s.site.short.changed()
	lost := fault.New(fault.Transient, "running a command in container "+s.facts.Container,
		fmt.Errorf("%w: %s are free, and its output may be a failure to write", engine.ErrNoSpace, units.HumanSize(float64(now.free)))).
		WithHint("free disk space where the engine keeps its data; --disk limits what each container may take of it")
	s.lost.Store(lost)
	return lost
}

// withSpace returns the engines without those that are short of disk space; all of them, if no other
// is left.
func withSpace(sites []*site) []*site {
	var others []*site
	for _, s := range sites {
		if !s.short.lasts() {
			others = append(others, s)
		}
	}
	if len(others) == 0 {
		return sites
	}
	return others
}
