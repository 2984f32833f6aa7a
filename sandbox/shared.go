package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"batch.example/batch/dataset"
	"batch.example/batch/imagecache"
	"batch.example/batch/internal/boxgit"
	"batch.example/batch/sandbox/engine"
)

// Shared has what several hosts on one engine share: the connection, the cache of images,
// and the results of scrubbing their history. It is safe for concurrent use.
type Shared struct{ *common }

// common has the parts of a host that it may share with others.
type common struct {
	engine engine.Engine
	about  engine.About
	images *imagecache.Cache
	places chan struct{} // of closed sandboxes, see leaving
	notify func(text string)
	log    *slog.Logger
	end    func() // ends pulling images ahead

	histories *histories
}

// HostInstance is an instance for which the named host will open a sandbox.
type HostInstance struct {
	Host string
	dataset.Instance
}

// Share connects to an engine for several hosts, which [Shared.Start] starts, and removes the
// containers that crashed runs left on it. The list replaces Instances: images are pulled
// in their order, and an image is kept for the hosts that still need it. Share uses only
// Engine, Options, State, Images, Prefix, Container.Platform, Drain, Notify and Log of c. The
// caller must Close the Shared. An error is a *fault.Error; then there is nothing to close.
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
	stock, err := OpenStock(ctx, c.Engine, c.Options, c.State)
	if err != nil {
		return nil, err
	}
	images := stock.Cache(c.Images)
	return &common{
		engine: stock.engine, about: stock.about, images: images, notify: c.Notify, log: c.Log,
		histories: newHistories(stock.engine, images, stock.about.CPUs, c.Log),
		places:    make(chan struct{}, maxLeaving),
	}, nil
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
		s.images.Skip(needID(host, in.ID))
	}
}

// Close ends the connection. All hosts must have been closed before. It also works if ctx is
// canceled.
func (s *Shared) Close(ctx context.Context) error { return s.close(ctx) }

func (s *common) close(ctx context.Context) error {
	s.end()
	ctx = context.WithoutCancel(ctx)
	err := s.histories.remove(ctx)
	s.reap(ctx)
	return errors.Join(err, s.engine.Close())
}

// reap removes the containers of crashed runs. A failure is logged and does not stop the run.
func (s *common) reap(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, reapLimit)
	defer cancel()
	removed, err := engine.Reap(ctx, s.engine, s.log)
	if err != nil {
		s.log.Warn("could not remove containers of crashed runs", "err", err)
	}
	if err := s.histories.reap(ctx); err != nil {
		s.log.Warn("could not remove volumes of crashed runs", "err", err)
	}
	switch len(removed) {
	case 0:
	case 1:
		s.notify("removed 1 container of a crashed run")
	default:
		s.notify(fmt.Sprintf("removed %d containers of crashed runs", len(removed)))
	}
}

// pullAhead pulls the images of the list until end is called or c.Drain is closed.
func (s *common) pullAhead(ctx context.Context, c Config, list []HostInstance) (end func()) {
	needs := make([]imagecache.Need, len(list))
	for i, t := range list {
		needs[i] = imagecache.Need{
			ID: needID(t.Host, t.ID), Ref: imagecache.Ref(t.ImageName(c.Prefix), c.Container.Platform), Commit: boxgit.ID(t.BaseCommit),
		}
	}
	s.images.Plan(needs)
	ctx, cancel := context.WithCancel(ctx)
	var ahead sync.WaitGroup
	ahead.Go(func() { s.images.Prefetch(ctx) })
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
		if err := s.images.Close(); err != nil {
			s.log.Warn("writing the image ledger", "err", err)
		}
	}
}

// needID identifies an instance in the plan of the images.
func needID(host, instance string) string {
	if host == "" {
		return instance
	}
	return host + "/" + instance
}

// Start starts a host. The Config's Engine, Options, State, Images and Drain have no effect: the
// Shared has them. The caller must Close the Host. An error is a *fault.Error; then there is
// nothing to close.
func (s *Shared) Start(ctx context.Context, c Config) (*Host, error) { return s.start(ctx, c) }

func (s *common) start(ctx context.Context, c Config) (*Host, error) {
	h := &Host{
		Config: c.withDefaults(), common: s, run: strings.ToLower(rand.Text()[:10]), leaving: leaving{places: s.places},
	}
	if err := s.engine.CheckNetwork(ctx, h.Container.Network); err != nil {
		return nil, err
	}
	var err error
	if h.left, err = inherit(ctx, s.engine, h.Config); err != nil {
		return nil, err
	}
	return h, nil
}
