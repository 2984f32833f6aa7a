package sandbox

import (
	"context"
	"errors"
	"strconv"
	"time"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/sandbox/images"
	"batch.example/batch/vocab"
)

// Opening says for which attempt at an instance a sandbox is opened.
type Opening struct {
	Instance dataset.Instance
	Attempt  int
	// Container is the id of the container to resume in, if there is one. Open takes it
	// over if it still runs. Otherwise Open removes it and creates a new container. It
	// also removes all other containers of earlier runs for the instance.
	Container string
	Preamble  []byte             // CheckShell's result in Container; another container is checked again
	Report    func(phase string) // "pull", then "start"

	// Pristine opens a sandbox without a scrub of its history. It neither takes over nor
	// removes containers of earlier runs, and starts no interpreter of the agent ahead of
	// its commands. Its container belongs to no attempt: after a crash, the next Start
	// under the lease removes it.
	Pristine bool
	Network  string // replaces the network of Config's Container; empty: does not
}

// Facts describes an open sandbox and how it was opened.
type Facts struct {
	Engine    string // its address; empty: it was not named
	Container string // id
	Adopted   bool   // the container is the one that Opening names
	Known     bool   // the repository is known to need no scrub: see boxgit.Known
	Image     vocab.Image
	Pull      time.Duration
	Start     time.Duration
}

// Open returns a running sandbox, which the caller must Close. After an error, a
// *fault.Error, nothing is left behind.
func (h *Host) Open(ctx context.Context, o Opening) (*Sandbox, error) {
	if !o.Pristine {
		if b, err := h.resume(ctx, o); b != nil || err != nil {
			return b, err
		}
	}
	wanted := images.Ref(o.Instance.ImageName(h.Prefix), h.Container.Platform)
	failed := map[*site]error{}
	for {
		s, leave, err := h.enter(ctx, wanted, o.Pristine, failed)
		if err != nil {
			return nil, err
		}
		b, err := h.openOn(ctx, s, o, leave)
		if err == nil {
			return b, nil
		}
		leave()
		lacking := fault.KindOf(err) == fault.Instance && h.place.hasImage(h.all(), s, wanted)
		if !h.several || fault.KindOf(err) != fault.Host && !lacking || ctx.Err() != nil {
			return nil, err
		}
		s.log.Warn("could not open a sandbox: trying another engine", "instance", o.Instance.ID, "err", err)
		failed[s] = err
	}
}

// resume returns a sandbox in the container that Opening names; nil if it is gone.
func (h *Host) resume(ctx context.Context, o Opening) (*Sandbox, error) {
	start := time.Now()
	var found *Sandbox
	err := h.each(func(s *site) error {
		c, err := h.leftOn(s).take(ctx, o)
		if err != nil && c != nil {
			c.Close()
		}
		if err != nil && h.several && ctx.Err() == nil {
			s.log.Warn("could not take over or remove the containers of an earlier run", "instance", o.Instance.ID, "err", err)
			return nil
		}
		if err != nil || c == nil { // only one engine has the container
			return err
		}
		at, err := h.commandsOf(ctx, s, c, o.Instance)
		if err != nil {
			c.Close()
			return err
		}
		f := Facts{Adopted: true, Image: vocab.Image{Ref: o.Instance.ImageName(h.Prefix)}, Start: time.Since(start)}
		found = h.box(ctx, s, c, o, h.place.join(s), at, f)
		found.preamble = o.Preamble
		return nil
	})
	if err != nil && found != nil { // it was canceled: a later run finds the container
		found.container.Close()
		found.release()
		return nil, err
	}
	return found, err
}

// openOn opens a sandbox on an engine on which the caller has a place; the sandbox will leave it.
func (h *Host) openOn(ctx context.Context, s *site, o Opening, leave func()) (*Sandbox, error) {
	ref := o.Instance.ImageName(h.Prefix)
	start := time.Now()
	o.Report("pull")
	wanted, id := images.Ref(ref, h.Container.Platform), needID(h.Name, o.Instance.ID)
	h.skip(id, s)
	image, release, err := s.images.Acquire(ctx, id, wanted, func(p images.Progress) { h.Pulled(o.Instance.ID, p) })
	if err != nil {
		return nil, o.Instance.ExplainImage(err)
	}
	h.place.found(s, wanted)
	pull := time.Since(start)
	scrub := h.scrubbing(ctx, s, wanted, image, o)
	o.Report("start")
	spec := h.spec(s, ref, image.ID, o)
	spec.Volumes = scrub.volumes(false)
	c, err := s.engine.Create(ctx, spec)
	if err != nil {
		h.leaveHistory(ctx, s, ref, scrub)
		release()
		return nil, err
	}
	at, err := h.commandsOf(ctx, s, c, o.Instance)
	if err != nil {
		err = errors.Join(err, c.Remove(ctx))
		release()
		return nil, err
	}
	if p, ok := c.(engine.Puller); ok {
		pull += p.PullTime()
	}
	b := h.box(ctx, s, c, o, func() { release(); leave() }, at, Facts{
		Image: vocab.Image{Ref: ref, Digest: image.Digest}, Known: scrub.known, Pull: pull, Start: time.Since(start) - pull,
	})
	b.scrub, b.baseCommit = scrub, o.Instance.BaseCommit
	if o.Instance.Task != nil {
		if err := b.beginTask(ctx); err != nil {
			err = errors.Join(err, c.Remove(ctx))
			release()
			return nil, err
		}
	}
	if !o.Pristine {
		b.began, _, _ = b.freeNow(ctx)
	}
	return b, nil
}

func (h *Host) box(ctx context.Context, on *site, c engine.Container, o Opening, release func(), at commandPlace, f Facts) *Sandbox {
	f.Container, f.Image.ID, f.Engine = c.ID(), c.ImageID(), on.Address
	s := &Sandbox{host: h, site: on, instance: o.Instance.ID, opened: ctx, container: c, release: release, facts: f, at: at}
	if !o.Pristine {
		c.Prepare(ctx, s.command())
	}
	return s
}

func (h *Host) spec(at *site, ref, id string, o Opening) engine.Spec {
	spec := h.containerOn(at)
	spec.Image, spec.ImageID = ref, id
	if o.Instance.Task != nil {
		h.ofTask(&spec, o.Instance.Task, at)
	}
	attempt := strconv.Itoa(o.Attempt)
	if o.Pristine {
		attempt, spec.Files = pristineAttempt, engine.Files{}
	}
	if o.Network != "" {
		spec.Network = o.Network
	}
	spec.Labels = map[string]string{
		engine.LabelRun:      h.run,
		engine.LabelInstance: o.Instance.ID,
		engine.LabelAttempt:  attempt,
		engine.LabelLease:    h.Lease,
	}
	if h.Program && !o.Pristine {
		spec.Labels[engine.LabelProgram] = "yes"
	}
	return spec
}

// containerOn describes the containers on an engine, which refuses one that may use more cores than it has.
func (c Config) containerOn(at *site) engine.Spec {
	spec := c.Container
	if c.MaxCPUs > 0 {
		spec.CPUs = min(c.MaxCPUs, float64(at.about.CPUs))
	}
	return spec
}

// Hold keeps the sandbox's image on its engine until release is called, for a sandbox that
// will be opened later.
func (s *Sandbox) Hold(ctx context.Context) (release func(), err error) {
	return s.site.images.Hold(ctx, images.Ref(s.facts.Image.Ref, s.host.Container.Platform))
}

// Image returns an instance's image if an engine has it.
func (h *Host) Image(ctx context.Context, in dataset.Instance) (img vocab.Image, here bool, err error) {
	ref := in.ImageName(h.Prefix)
	for _, s := range h.all() {
		if h.several && !s.answers() {
			continue
		}
		found, here, err := imagesOf(s.engine).Image(ctx, images.Ref(ref, h.Container.Platform))
		if err != nil || here {
			return vocab.Image{Ref: ref, ID: found.ID, Digest: found.Digest}, here, err
		}
	}
	return vocab.Image{Ref: ref}, false, nil
}

// maxLeaving is how many closed sandboxes of an engine may still have their container.
// Removing one takes a fraction of a second, so few callers wait; until then, the processes
// in it keep their memory.
const maxLeaving = 8

// begin calls remove in the background, once fewer than maxLeaving other sandboxes on the engine
// are left.
func (h *Host) begin(s *site, remove func()) {
	s.places <- struct{}{}
	h.leaving.Go(func() {
		defer func() { <-s.places }()
		remove()
	})
}

// Close ends the sandbox. Its container is removed and its image released in the
// background; if many others are being removed, Close first waits for one of them. It also
// works after a canceled Open or Execute, with its own time limit, and may be called twice.
// The removal waits for an engine that is away, unless Open's context is done. [Host.Close]
// waits for it. The error is always nil: the host's log has a failure.
func (s *Sandbox) Close() error {
	s.closed.Do(func() { s.host.begin(s.site, s.remove) })
	return nil
}

func (s *Sandbox) remove() {
	defer s.release()
	if err := s.container.Remove(s.opened); err != nil {
		s.site.log.Error("removing a container", "instance", s.instance, "container", s.facts.Container, "err", err)
		return
	}
	s.host.leaveHistory(s.opened, s.site, s.facts.Image.Ref, s.scrub)
}
