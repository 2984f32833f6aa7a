package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/sandbox/images"
)

// placement chooses the engine of each sandbox. It is safe for concurrent use.
type placement struct {
	mu      sync.Mutex
	changed chan struct{}    // closed and replaced when a place becomes free
	homes   map[string]*site // by image: the engine on which it is pulled ahead
}

func newPlacement() *placement {
	return &placement{changed: make(chan struct{}), homes: map[string]*site{}}
}

// lookAgain is how often a sandbox that waits for a place looks whether an engine answers again.
const lookAgain = time.Second

// enter waits for a place for a sandbox on one of the engines that answer, without the ones in not,
// and takes it. The caller must leave. If no engine is left, the error is a Host fault.
func (h *Host) enter(ctx context.Context, ref string, pristine bool, not map[*site]error) (s *site, leave func(), err error) {
	for {
		sites, current := h.now()
		usable := slices.DeleteFunc(slices.Clone(sites), func(s *site) bool { return not[s] != nil })
		if len(usable) == 0 {
			return nil, nil, noEngine(not)
		}
		if h.several {
			if usable, err = answering(ctx, usable, current); err != nil {
				return nil, nil, err
			}
			usable = withSpace(withMemory(usable))
		}
		s, changed := h.place.take(usable, ref, pristine)
		if s != nil {
			return s, sync.OnceFunc(func() { h.place.leave(s, pristine) }), nil
		}
		select {
		case <-changed:
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
}

// noEngine is the fault if every engine has failed.
func noEngine(failed map[*site]error) error {
	var errs []error
	hint := ""
	for s, err := range failed {
		errs = append(errs, fmt.Errorf("engine %s: %w", s.Address, err))
		hint = fault.HintOf(err)
	}
	return fault.New(fault.Host, "no engine is left", errors.Join(errs...)).WithHint("%s", hint)
}

// answering returns the engines that answer. If there is none, it waits for one, for as long as the
// engines' patience, and returns none when current ends.
func answering(ctx context.Context, sites []*site, current context.Context) ([]*site, error) {
	now := slices.DeleteFunc(slices.Clone(sites), func(s *site) bool { return !s.answers() })
	if len(now) > 0 {
		return now, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(current, cancel)()
	errs := make([]error, len(sites))
	var waiting sync.WaitGroup
	for i, s := range sites {
		waiting.Go(func() {
			if errs[i] = s.engine.Ready(ctx); errs[i] == nil {
				cancel() // the others need not be waited for
			}
		})
	}
	waiting.Wait()
	failed := map[*site]error{}
	for i, s := range sites {
		if errs[i] == nil {
			now = append(now, s)
		}
		failed[s] = errs[i]
	}
	if len(now) == 0 && current.Err() != nil {
		return nil, nil
	}
	if len(now) == 0 && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if len(now) == 0 {
		return nil, noEngine(failed)
	}
	return now, nil
}

// take takes a place for a sandbox from the image ref; nil: none is free, and changed is closed when
// one may be.
func (p *placement) take(sites []*site, ref string, pristine bool) (s *site, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s = p.best(sites, ref, pristine); s == nil {
		return nil, p.changed
	}
	s.open[pristine]++
	return s, nil
}

// join takes a place for a sandbox whose container exists, even if none is free.
func (p *placement) join(s *site) (leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.open[false]++
	return sync.OnceFunc(func() { p.leave(s, false) })
}

func (p *placement) leave(s *site, pristine bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.open[pristine]--
	close(p.changed)
	p.changed = make(chan struct{})
}

// best returns the best engine with a free place. An engine that still has room is better than a
// full one; then, one that has the image or will have it; then, one with more room left.
func (p *placement) best(sites []*site, ref string, pristine bool) *site {
	var best *site
	var rank [3]float64 // lower is better
	for _, s := range sites {
		open := s.open[pristine]
		if s.limit > 0 && open >= s.limit {
			continue
		}
		crowded, lacks := 0.0, 0.0
		if open >= s.room {
			crowded = 1
		}
		if !s.has[ref] && p.homes[ref] != s {
			lacks = 1
		}
		r := [3]float64{crowded, lacks, float64(open+1) / float64(s.room)}
		if best == nil || slices.Compare(r[:], rank[:]) < 0 {
			best, rank = s, r
		}
	}
	return best
}

// look asks an engine which images it has. A failure is logged: the images are looked up again when
// they are used.
func (p *placement) look(ctx context.Context, s *site, refs []string, platform string) {
	here, err := present(ctx, s.engine, refs, platform)
	if err != nil {
		s.log.Warn("could not list images", "err", err)
	}
	for ref, yes := range here {
		if yes {
			p.found(s, images.Ref(ref, platform))
		}
	}
}

// lost records that an engine does not have an image any more.
func (p *placement) lost(s *site, ref string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(s.has, ref)
}

// found records that an engine has an image.
func (p *placement) found(s *site, ref string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.has[ref] = true
}

// hasImage reports whether an engine other than but has an image that but does not have.
func (p *placement) hasImage(sites []*site, but *site, ref string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !but.has[ref] && slices.ContainsFunc(sites, func(s *site) bool { return s.has[ref] })
}

// plan divides what several engines will need: an image that some have is needed there, and any
// other on one engine, so that it is pulled ahead once.
func (p *placement) plan(sites []*site, needs []images.Need) map[*site][]images.Need {
	p.mu.Lock()
	defer p.mu.Unlock()
	own := map[*site]int{} // images for which it is the home
	planned := map[*site][]images.Need{}
	for _, need := range needs {
		var at []*site
		for _, s := range sites {
			if s.has[need.Ref] {
				at = append(at, s)
			}
		}
		if len(at) == 0 {
			home := p.homes[need.Ref]
			if home == nil {
				home = slices.MinFunc(sites, func(a, b *site) int { return (own[a]+1)*b.room - (own[b]+1)*a.room })
				own[home]++
				p.homes[need.Ref] = home
			}
			at = []*site{home}
		}
		for _, s := range at {
			planned[s] = append(planned[s], need)
		}
	}
	return planned
}

// elsewhere returns err as a fault of one engine alone: another attempt can use another engine. With
// one engine, it returns err.
func (h *Host) elsewhere(s *site, err error) error {
	if !h.several || fault.KindOf(err) != fault.Host {
		return err
	}
	return fault.New(fault.Transient, "engine "+s.Address, fmt.Errorf("%w: %w", engine.ErrOutage, err)).WithHint("%s", fault.HintOf(err))
}
