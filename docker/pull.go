package docker

import (
	"context"
	"sync"

	"github.com/distribution/reference"

	"batch.example/batch/fault"
)

// PullProgress is how far a pull has come.
type PullProgress struct {
	Ref     string
	Waiting bool  // for one of the parallel pulls to end, or for the registry to allow it
	Current int64 // bytes downloaded
	Total   int64 // bytes to download, of the layers whose size is known so far
	Layers  int   // known so far
	Done    int   // of Layers, unpacked or there before
}

// Ensure makes sure that the engine has the image ref, and returns it. Callers
// that ask for the same image at the same time share one pull: one of them
// giving up leaves it to the others, the last one giving up ends it. Progress,
// which may be nil, is called on the caller's own goroutine and not after
// Ensure has returned.
//
// The error blames the instance when the registry does not have the image, not
// for this platform, or not for this user; it is Transient when the registry
// or the network failed, Host when the disk is full or the engine is gone; a
// full disk is also syscall.ENOSPC to errors.Is.
//
// What may pass is tried again first: a registry or network that fails, for
// some seconds; a registry that limits pulls, for some minutes, in which no
// pull from that registry is begun. Its answer may say how long.
func (e *Engine) Ensure(ctx context.Context, ref string, progress func(PullProgress)) (Image, error) {
	img, ok, err := e.Image(ctx, ref)
	if ok || err != nil {
		return img, err
	}
	name, err := normal(ref)
	if err != nil {
		return Image{}, err
	}
	if progress == nil {
		progress = func(PullProgress) {}
	}
	if err := e.await(ctx, name, progress); err != nil {
		return Image{}, err
	}
	img, ok, err = e.Image(ctx, ref)
	if err == nil && !ok {
		err = fault.New(fault.Transient, "pulling image "+ref, nil).
			WithHint("the engine pulled it and does not have it; something removed it")
	}
	return img, err
}

// pull is one download that any number of callers wait for.
type pull struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when err is set

	mu      sync.Mutex
	waiters map[chan struct{}]struct{} // each of capacity 1: told that last has changed
	last    PullProgress
	err     error
}

// await joins the pull of name, starting it when there is none.
func (e *Engine) await(ctx context.Context, name reference.Named, progress func(PullProgress)) error {
	told := make(chan struct{}, 1)
	p := e.join(ctx, name, told)
	defer e.leave(name, p, told)
	for {
		select {
		case <-p.done:
			return p.err
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-told:
			p.mu.Lock()
			last := p.last
			p.mu.Unlock()
			progress(last)
		}
	}
}

// join adds the caller to the pull of name. A new pull takes over only the
// values of ctx: its life is that of all who wait.
func (e *Engine) join(ctx context.Context, name reference.Named, told chan struct{}) *pull {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.pulls[name.String()]
	if p == nil {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		p = &pull{cancel: cancel, done: make(chan struct{}), waiters: map[chan struct{}]struct{}{}}
		e.pulls[name.String()] = p
		e.pullers.Go(func() { e.run(ctx, name, p) })
	}
	p.mu.Lock()
	p.waiters[told] = struct{}{}
	p.mu.Unlock()
	return p
}

// leave takes the caller off the pull. The last one ends it, and takes it off
// the list at once so that a later caller starts anew.
func (e *Engine) leave(name reference.Named, p *pull, told chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p.mu.Lock()
	delete(p.waiters, told)
	last := len(p.waiters) == 0
	p.mu.Unlock()
	if last {
		p.cancel()
		e.forget(name, p)
	}
}

// forget is called with e.mu held.
func (e *Engine) forget(name reference.Named, p *pull) {
	if e.pulls[name.String()] == p {
		delete(e.pulls, name.String())
	}
}

// run does the pull and is its only goroutine.
func (e *Engine) run(ctx context.Context, name reference.Named, p *pull) {
	defer p.cancel()
	p.report(PullProgress{Ref: name.String(), Waiting: true})
	err := e.persist(ctx, name, func(ctx context.Context) error { return e.download(ctx, name, p.report) })
	if err != nil && ctx.Err() == nil {
		err = blamePull(err, name.String())
	}
	e.mu.Lock()
	e.forget(name, p)
	e.mu.Unlock()
	p.err = err
	close(p.done)
}

func (p *pull) report(now PullProgress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = now
	for w := range p.waiters {
		select {
		case w <- struct{}{}:
		default: // it has not looked at the former state yet and will find this one
		}
	}
}
