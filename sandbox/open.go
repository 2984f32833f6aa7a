package sandbox

import (
	"context"
	"strconv"
	"time"

	"batch.example/batch/dataset"
	"batch.example/batch/imagecache"
	"batch.example/batch/sandbox/engine"
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
	ref := o.Instance.ImageName(h.Prefix)
	start := time.Now()
	var c engine.Container
	var err error
	if !o.Pristine {
		c, err = h.left.take(ctx, o)
	}
	if err != nil {
		if c != nil {
			c.Close()
		}
		return nil, err
	}
	if c != nil {
		b := h.box(ctx, c, o, func() {}, Facts{Adopted: true, Image: vocab.Image{Ref: ref}, Start: time.Since(start)})
		b.preamble = o.Preamble
		return b, nil
	}
	o.Report("pull")
	wanted := imagecache.Ref(ref, h.Container.Platform)
	image, release, err := h.images.Acquire(ctx, needID(h.Name, o.Instance.ID), wanted, func(p imagecache.Progress) { h.Pulled(o.Instance.ID, p) })
	if err != nil {
		return nil, o.Instance.ExplainImage(err)
	}
	pull := time.Since(start)
	scrub := h.scrubbing(ctx, wanted, image, o)
	o.Report("start")
	spec := h.spec(ref, image.ID, o)
	spec.Volumes = scrub.volumes(false)
	if c, err = h.engine.Create(ctx, spec); err != nil {
		h.leaveHistory(ctx, ref, scrub)
		release()
		return nil, err
	}
	b := h.box(ctx, c, o, release, Facts{
		Image: vocab.Image{Ref: ref, Digest: image.Digest}, Known: scrub.known, Pull: pull, Start: time.Since(start) - pull,
	})
	b.scrub, b.baseCommit = scrub, o.Instance.BaseCommit
	return b, nil
}

func (h *Host) box(ctx context.Context, c engine.Container, o Opening, release func(), f Facts) *Sandbox {
	f.Container, f.Image.ID = c.ID(), c.ImageID()
	s := &Sandbox{host: h, instance: o.Instance.ID, opened: ctx, container: c, release: release, facts: f}
	if !o.Pristine {
		c.Prepare(ctx, s.command())
	}
	return s
}

func (h *Host) spec(ref, id string, o Opening) engine.Spec {
	spec := h.Container
	spec.Image, spec.ImageID = ref, id
	attempt := strconv.Itoa(o.Attempt)
	if o.Pristine {
		attempt = pristineAttempt
	}
	if o.Network != "" {
		spec.Network = o.Network
	}
	if h.MaxCPUs > 0 {
		spec.CPUs = min(h.MaxCPUs, float64(h.about.CPUs))
	}
	spec.Labels = map[string]string{
		engine.LabelRun:      h.run,
		engine.LabelInstance: o.Instance.ID,
		engine.LabelAttempt:  attempt,
		engine.LabelLease:    h.Lease,
	}
	return spec
}

// Hold keeps an instance's image on the engine until release is called, for a sandbox that
// will be opened later. The caller has a sandbox of the instance open.
func (h *Host) Hold(ctx context.Context, in dataset.Instance) (release func(), err error) {
	return h.images.Hold(ctx, imagecache.Ref(in.ImageName(h.Prefix), h.Container.Platform))
}

// Image returns an instance's image if the engine has it.
func (h *Host) Image(ctx context.Context, in dataset.Instance) (vocab.Image, bool, error) {
	ref := in.ImageName(h.Prefix)
	img, here, err := imagesOf(h.engine).Image(ctx, imagecache.Ref(ref, h.Container.Platform))
	return vocab.Image{Ref: ref, ID: img.ID, Digest: img.Digest}, here, err
}
