// Package images manages the images of one Docker engine. It lists them with their sizes,
// and pulls a missing image once, however many callers ask for it at the same time.
//
// Its API is not promised to other programs: see package batch.
package images

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/distribution/reference"
	"github.com/docker/cli/cli/config/configfile"
	"golang.org/x/sync/semaphore"

	"batch.example/batch/docker/internal/daemon"
	"batch.example/batch/fault"
	"batch.example/batch/sandbox/engine"
	cache "batch.example/batch/sandbox/images"
)

const defaultPulls = 4

// Store is the images of one engine. It is safe for concurrent use.
type Store struct {
	// Builds are the images that are built from a folder where they would be pulled, by name. It must not be
	// changed after the first call of a method.
	Builds map[string]engine.Build

	engine *daemon.Conn
	login  *configfile.ConfigFile
	auth   sync.Mutex // a credential helper is a separate process: one at a time

	slots   *semaphore.Weighted // images being pulled
	builds  *semaphore.Weighted // images being built
	mu      sync.Mutex
	pulls   map[string]*pull
	gates   map[string]*gate               // by registry
	turns   map[string]*semaphore.Weighted // by image name
	pullers sync.WaitGroup

	pace        pace
	pullTimeout time.Duration
}

// New returns the images of an engine. Login has the user's logins to registries. At most
// pulls images are pulled at the same time (0: 4). One download may take pullTimeout
// (0: no limit). The caller must Close the Store before it closes the engine.
func New(e *daemon.Conn, login *configfile.ConfigFile, pulls int, pullTimeout time.Duration) *Store {
	return &Store{
		engine: e, login: login, slots: daemon.AtMost(pulls, defaultPulls), builds: daemon.AtMost(0, maxBuilds), pace: defaultPace, pullTimeout: pullTimeout,
		pulls: map[string]*pull{}, gates: map[string]*gate{}, turns: map[string]*semaphore.Weighted{},
	}
}

// Close cancels the running pulls and waits until they have ended. No Ensure may begin
// after it.
func (s *Store) Close() {
	s.mu.Lock()
	for _, p := range s.pulls {
		p.cancel()
	}
	s.mu.Unlock()
	s.pullers.Wait()
}

// Ensure makes sure that the engine has the image ref for the platform, and returns it.
// The platform is os/arch; if it is empty, the engine chooses. Callers that ask for the
// same image at the same time share one pull, which ends early only if all of them give
// up. Progress may be nil; it is called on the caller's own goroutine, and never after
// Ensure has returned.
//
// The error blames the instance if the registry does not have the image, does not have it
// for this platform, or does not let this user pull it. It is Transient if the registry
// or the network failed, and Host if the disk is full or the engine is gone. A full disk
// is also syscall.ENOSPC to errors.Is.
//
// A temporary failure is retried first: a failing registry or network for some seconds, a
// registry that limits pulls for some minutes. During that time no other pull from
// that registry begins. The registry's answer may say how long to wait.
func (s *Store) Ensure(ctx context.Context, ref, platform string, progress func(cache.Progress)) (Image, error) {
	img, ok, err := s.Image(ctx, ref, platform)
	if ok || err != nil {
		return img, err
	}
	return s.Pull(ctx, ref, platform, progress)
}

// Pull is [Store.Ensure] for an image that is asked for also if the engine has one of this name.
func (s *Store) Pull(ctx context.Context, ref, platform string, progress func(cache.Progress)) (Image, error) {
	name, err := normal(ref)
	if err != nil {
		return Image{}, err
	}
	if progress == nil {
		progress = func(cache.Progress) {}
	}
	img, err := s.await(ctx, wanted{name, platform}, progress)
	if err != nil {
		return Image{}, s.otherPlatform(ctx, err, ref, platform)
	}
	img.Ref = ref
	return img, nil
}

// Offered asks the registry of ref whether this user may pull it, through the engine and with
// the user's login. The error has the kind that the pull would have.
func (s *Store) Offered(ctx context.Context, ref string) error {
	name, err := normal(ref)
	if err != nil {
		return err
	}
	_, err = s.engine.API.DistributionInspect(ctx, name.String(), s.credentials(name))
	if err == nil || ctx.Err() != nil {
		return err
	}
	op := "image " + ref
	if r := pullRuleFor(err, ref); r != nil {
		return fault.New(r.kind, op, err).WithHint("%s", r.hint)
	}
	return fault.New(fault.Transient, op, err)
}

// otherPlatform returns the fault of a failed pull. If the engine has the image for another
// platform, the fault says so.
func (s *Store) otherPlatform(ctx context.Context, err error, ref, platform string) error {
	kind := fault.KindOf(err)
	if platform == "" || kind == fault.Unknown {
		return err
	}
	img, here, lookErr := s.Image(ctx, ref, "")
	if lookErr != nil || !here {
		return err
	}
	text := fmt.Sprintf("image %s exists for %s/%s, not for %s, and could not be pulled", ref, img.OS, img.Arch, platform)
	return fault.New(kind, text, withoutText(err)).
		WithHint("pull or build it for %s, or leave out --platform", platform)
}

// wanted is the image to pull: a name and a platform.
type wanted struct {
	reference.Named
	platform string // may be empty
}

func (w wanted) key() string { return w.String() + " " + w.platform }

// pull is one download that any number of callers wait for.
type pull struct {
	cancel  context.CancelFunc
	waiters int           // guarded by the store's lock
	done    chan struct{} // closed when image or err is set
	image   Image
	err     error

	mu      sync.Mutex
	last    *cache.Progress // nil: it has reported nothing yet
	changed chan struct{}   // closed and replaced when last changes
}

// await joins the pull of name, starting it when there is none.
func (s *Store) await(ctx context.Context, name wanted, progress func(cache.Progress)) (Image, error) {
	p := s.join(ctx, name)
	defer s.leave(name, p)
	for {
		p.mu.Lock()
		last, changed := p.last, p.changed
		p.mu.Unlock()
		if last != nil {
			progress(*last)
		}
		select {
		case <-p.done:
			return p.image, p.err
		case <-ctx.Done():
			return Image{}, context.Cause(ctx)
		case <-changed:
		}
	}
}

// join adds the caller to the pull of name. A new pull takes only the values of ctx, not
// its end: it ends when the last waiting caller leaves.
func (s *Store) join(ctx context.Context, name wanted) *pull {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pulls[name.key()]
	if p == nil {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		p = &pull{cancel: cancel, done: make(chan struct{}), changed: make(chan struct{})}
		s.pulls[name.key()] = p
		s.pullers.Go(func() { s.run(ctx, name, p) })
	}
	p.waiters++
	return p
}

// leave removes the caller from the pull. The last caller cancels the pull and removes it
// from the list at once, so that a later caller starts a new pull.
func (s *Store) leave(name wanted, p *pull) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.waiters--; p.waiters == 0 {
		p.cancel()
		s.forget(name, p)
	}
}

// forget is called with s.mu held.
func (s *Store) forget(name wanted, p *pull) {
	if s.pulls[name.key()] == p {
		delete(s.pulls, name.key())
	}
}

// run does the pull and is its only goroutine.
func (s *Store) run(ctx context.Context, name wanted, p *pull) {
	defer p.cancel()
	p.report(cache.Progress{})
	p.image, p.err = s.fetch(ctx, name, p.report)
	s.mu.Lock()
	s.forget(name, p)
	s.mu.Unlock()
	close(p.done)
}

// fetch downloads name and looks up the new image. It pulls a name for one platform at
// a time: an engine may have only one image of a name.
func (s *Store) fetch(ctx context.Context, name wanted, report func(cache.Progress)) (Image, error) {
	turn := s.turn(name.String())
	if err := turn.Acquire(ctx, 1); err != nil {
		return Image{}, err
	}
	defer turn.Release(1)
	var err error
	if b, ok := s.Builds[reference.FamiliarString(name.Named)]; ok {
		if err := s.build(ctx, name, b); err != nil {
			return Image{}, err
		}
	} else {
		err = s.downloadWithRetries(ctx, name.Named, func(ctx context.Context) error { return s.download(ctx, name, report) })
	}
	if err != nil {
		if ctx.Err() == nil {
			err = blamePull(err, name.String())
		}
		return Image{}, err
	}
	img, here, err := s.Image(ctx, name.String(), name.platform)
	if err == nil && !here && name.platform != "" { // the image's own settings may name another platform than the registry does
		img, here, err = s.Image(ctx, name.String(), "")
	}
	if err == nil && !here {
		err = fault.New(fault.Transient, "pulling image "+name.String(), nil).
			WithHint("the engine pulled it but no longer has it; something removed it")
	}
	return img, err
}

// turn returns the semaphore that is held while an image of that name is pulled.
func (s *Store) turn(name string) *semaphore.Weighted {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turns[name] == nil {
		s.turns[name] = semaphore.NewWeighted(1)
	}
	return s.turns[name]
}

func (p *pull) report(now cache.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = &now
	close(p.changed)
	p.changed = make(chan struct{})
}
