package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/boxgit"
	"batch.example/batch/sandbox/images"
)

// Shared has what several hosts on the same engines share: the connections, the caches of images,
// and the results of scrubbing their history. It is safe for concurrent use.
type Shared struct{ *common }

// common has the parts of a host that it may share with others.
type common struct {
	several bool // several engines are named
	place   *placement
	notify  func(text string)
	log     *slog.Logger
	end     func()   // ends pulling images ahead, and waiting for absent engines
	absent  []Engine // at the beginning

	joining sync.RWMutex // held while an engine is added; for reading while a host starts or ends

	mu      sync.Mutex
	hosts   map[*Host]bool  // that have started and not ended; add reads it and holds joining
	sites   []*site         // that have answered; only appended to
	current context.Context // ends when one is added
	outdate func()          // ends current
}

// HostInstance is an instance for which the named host will open a sandbox.
type HostInstance struct {
	Host string
	dataset.Instance
}

// Share connects to engines for several hosts, which [Shared.Start] starts, and removes the
// containers that crashed runs left on them. The list replaces Instances: images are pulled
// in their order, and an image is kept for the hosts that still need it. Share uses only
// Engines, Options, State, Images, Prefix, ShareScrubs, Container's Platform, WorkDir and Memory,
// Drain, Notify and Log of c. The caller must Close the Shared. An error is a *fault.Error; then
// there is nothing to close.
func Share(ctx context.Context, c Config, list []HostInstance) (*Shared, error) {
	c = c.withDefaults()
	s, err := connect(ctx, c)
	if err != nil {
		return nil, err
	}
	s.begin(ctx, c, list)
	return &Shared{s}, nil
}

func connect(ctx context.Context, c Config) (*common, error) {
	place := newPlacement()
	sites, absent, err := connectAll(ctx, c, place)
	if err != nil {
		return nil, err
	}
	return newCommon(c, place, sites, absent), nil
}

func newCommon(c Config, place *placement, sites []*site, absent []Engine) *common {
	s := &common{
		several: len(sites)+len(absent) > 1, place: place, notify: c.Notify, log: c.Log, absent: absent,
		hosts: map[*Host]bool{}, sites: sites,
	}
	s.current, s.outdate = context.WithCancel(context.Background())
	return s
}

// now returns the engines that have answered, and a context that ends when one is added.
func (s *common) now() ([]*site, context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clip(s.sites), s.current
}

func (s *common) all() []*site {
	sites, _ := s.now()
	return sites
}

// begin removes the containers of crashed runs and begins to pull images ahead.
func (s *common) begin(ctx context.Context, c Config, list []HostInstance) {
	s.reap(ctx)
	s.end = s.pullAhead(ctx, c, list)
}

// Skip says that the named host opens no more sandboxes for the instances: their images are
// not kept for it.
func (s *Shared) Skip(host string, instances []dataset.Instance) {
	for _, in := range instances {
		s.skip(needID(host, in.ID), nil)
	}
}

// skip says that an instance of the plan will not begin on any engine but one, which may be nil.
func (s *common) skip(id string, but *site) {
	for _, at := range s.all() {
		if at != but {
			at.images.Skip(id)
		}
	}
}

// Close ends the connections. All hosts must have been closed before. It also works if ctx is
// canceled.
func (s *Shared) Close(ctx context.Context) error { return s.close(ctx) }

func (s *common) close(ctx context.Context) error {
	s.end()
	ctx = context.WithoutCancel(ctx)
	err := s.tidy(ctx, func(limited context.Context, at *site) error {
		if !s.several {
			return at.histories.remove(ctx)
		}
		return at.histories.remove(limited)
	})
	s.reap(ctx)
	return errors.Join(err, s.disconnect())
}

// disconnect ends the connections to the engines.
func (s *common) disconnect() error {
	return s.each(func(at *site) error {
		if s.several && !at.answers() {
			s.notify(fmt.Sprintf("engine %s does not answer: containers may be left on it, which `batch clean` removes with --engine %s", at.Address, at.Address))
		}
		return at.engine.Close()
	})
}

// tidy calls f for the engines at the same time, with a time limit. Of several, it leaves out the ones
// that do not answer, which [common.disconnect] names.
func (s *common) tidy(ctx context.Context, f func(context.Context, *site) error) error {
	return s.each(func(at *site) error {
		if s.several && !at.answers() {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, reapLimit)
		defer cancel()
		return f(ctx, at)
	})
}

// each calls f for all engines at the same time. With several, an error names its engine.
func (s *common) each(f func(*site) error) error {
	sites := s.all()
	errs := make([]error, len(sites))
	var working sync.WaitGroup
	for i, at := range sites {
		working.Go(func() {
			if errs[i] = f(at); errs[i] != nil && s.several {
				errs[i] = fmt.Errorf("engine %s: %w", at.Address, errs[i])
			}
		})
	}
	working.Wait()
	return errors.Join(errs...)
}

// reap removes the containers of crashed runs. A failure is logged and does not stop the run.
func (s *common) reap(ctx context.Context) {
	var removed atomic.Int64
	_ = s.tidy(ctx, func(ctx context.Context, at *site) error { // failures are logged
		removed.Add(int64(at.reap(ctx)))
		return nil
	})
	s.sayReaped(int(removed.Load()))
}

func (s *common) sayReaped(n int) {
	switch n {
	case 0:
	case 1:
		s.notify("removed 1 container of a crashed run")
	default:
		s.notify(fmt.Sprintf("removed %d containers of crashed runs", n))
	}
}

// pullAhead pulls the images of the list until end is called or c.Drain is closed.
func (s *common) pullAhead(ctx context.Context, c Config, list []HostInstance) (end func()) {
	needs := make([]images.Need, len(list))
	for i, t := range list {
		needs[i] = images.Need{
			ID: needID(t.Host, t.ID), Ref: images.Ref(t.ImageName(c.Prefix), c.Container.Platform), Commit: boxgit.ID(t.BaseCommit),
		}
	}
	refs := refsOf(list, c.Prefix)
	planned := s.plan(ctx, c, refs, needs)
	ctx, cancel := context.WithCancel(ctx)
	var ahead sync.WaitGroup
	for _, at := range s.all() {
		at.images.Plan(planned[at])
		ahead.Go(func() { at.images.Prefetch(ctx) })
		ahead.Go(func() { at.scrubAhead(ctx, c, processorIdle) })
	}
	for _, e := range s.absent {
		ahead.Go(func() { s.await(ctx, c, e, refs) })
	}
	ahead.Go(func() {
		select {
		case <-c.Drain:
			cancel()
		case <-ctx.Done():
		}
	})
	return func() {
		cancel()
		ahead.Wait()
		for _, at := range s.all() {
			if err := at.images.Close(); err != nil {
				at.log.Warn("writing the image ledger", "err", err)
			}
		}
	}
}

// plan says which engine will need which images, after asking the engines what they have.
func (s *common) plan(ctx context.Context, c Config, refs []string, needs []images.Need) map[*site][]images.Need {
	sites := s.all()
	if len(sites) == 1 {
		return map[*site][]images.Need{sites[0]: needs}
	}
	_ = s.each(func(at *site) error {
		s.place.look(ctx, at, refs, c.Container.Platform)
		return nil
	})
	return s.place.plan(sites, needs)
}

// refsOf returns the names of the images that a list needs.
func refsOf(list []HostInstance, prefix string) (refs []string) {
	instances := make([]dataset.Instance, len(list))
	for i, t := range list {
		instances[i] = t.Instance
	}
	for _, n := range Needs(instances, prefix) {
		refs = append(refs, n.Ref)
	}
	return refs
}

// needID identifies an instance in the plan of the images.
func needID(host, instance string) string {
	if host == "" {
		return instance
	}
	return host + "/" + instance
}

// Start starts a host. The Config's Engines, Options, State, Images and Drain have no effect: the
// Shared has them. The caller must Close the Host. An error is a *fault.Error; then there is
// nothing to close.
func (s *Shared) Start(ctx context.Context, c Config) (*Host, error) { return s.start(ctx, c) }

func (s *common) start(ctx context.Context, c Config) (*Host, error) {
	h := &Host{
		Config: c.withDefaults(), common: s, run: strings.ToLower(rand.Text()[:10]), left: map[*site]*inheritance{},
	}
	s.joining.RLock()
	defer s.joining.RUnlock()
	err := s.each(func(at *site) error {
		err := h.inherit(ctx, at)
		if err != nil && s.several && fault.KindOf(err) != fault.Usage && ctx.Err() == nil {
			at.log.Warn("could not look for the containers of earlier runs", "err", err) // if the engine is lost, others do the work
			return nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hosts[h] = true
	return h, nil
}

// inherit finds the containers that earlier runs left for a host on an engine. It refuses an engine
// without the host's network, and mounts that would give away the machine.
func (h *Host) inherit(ctx context.Context, at *site) error {
	err := h.check(ctx, at.engine)
	left := &inheritance{engine: at.engine, lease: h.Lease, log: at.log}
	if err == nil {
		left, err = inherit(ctx, at.engine, h.Config)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.left[at] = left
	return err
}

func (h *Host) leftOn(at *site) *inheritance {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.left[at]
}
