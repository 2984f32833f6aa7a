package sandbox

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"time"

	"batch.example/batch/dataset"
	"batch.example/batch/docker/containers"
	"batch.example/batch/imagecache"
	"batch.example/batch/vocab"
)

// Opening says for whom a sandbox is.
type Opening struct {
	Instance dataset.Instance
	Attempt  int
	// Container is the id of one that holds the state to go on from; empty when
	// there is none. It is taken over if it still runs, else it is removed, as
	// is any other that an earlier run made for the instance, and Open makes a
	// new one.
	Container string
	Report    func(phase string) // "pull", "scrub" where the sandbox waits for that, then "start"
}

// Facts is what a sandbox turned out to be.
type Facts struct {
	Container string // id
	Adopted   bool   // it is the Opening's
	Known     bool   // that its repository needs no scrub: see boxgit.Known
	Scrubbed  bool   // it was scrubbed before, whole
	Image     vocab.Image
	Pull      time.Duration
	Start     time.Duration
	Scrub     time.Duration // it waited for an image with its history scrubbed
}

// Open returns a running sandbox or a *fault.Error that leaves nothing behind. The
// caller closes the sandbox.
func (h *Host) Open(ctx context.Context, o Opening) (*Sandbox, error) {
	ref := o.Instance.ImageName(h.Prefix)
	start := time.Now()
	c, err := h.left.take(ctx, o)
	if err != nil {
		if c != nil {
			c.Close()
		}
		return nil, err
	}
	if c != nil {
		return h.box(ctx, c, func() {}, Facts{Adopted: true, Image: vocab.Image{Ref: ref}, Start: time.Since(start)}), nil
	}
	o.Report("pull")
	wanted := imagecache.Ref(ref, h.Container.Platform)
	image, release, err := h.images.Acquire(ctx, o.Instance.ID, wanted, func(p imagecache.Progress) { h.Pulled(o.Instance.ID, p) })
	if err != nil {
		return nil, err
	}
	pull := time.Since(start)
	from := h.base(ctx, wanted, image, o)
	letGo := func() { from.release(); release() }
	o.Report("start")
	if c, err = h.engine.Create(ctx, h.spec(ref, from.image, o)); err != nil {
		letGo()
		return nil, err
	}
	b := h.box(ctx, c, letGo, Facts{
		Image: vocab.Image{Ref: ref, Digest: image.Digest}, Known: from.known, Scrubbed: from.image != image.ID,
		Pull: pull, Scrub: from.waited, Start: time.Since(start) - pull - from.waited,
	})
	if b.facts.Scrubbed {
		b.facts.Image.ID = image.ID // what it is made of is that image, as an agent may see it
	}
	if from.key != "" {
		b.remember = func(clean bool, took time.Duration) { h.remember(from.key, clean, took) }
	}
	return b, nil
}

func (h *Host) box(ctx context.Context, c *containers.Container, release func(), f Facts) *Sandbox {
	f.Container, f.Image.ID = c.ID(), c.ImageID()
	s := &Sandbox{host: h, opened: ctx, container: c, release: release, facts: f}
	c.Prepare(ctx, s.command())
	return s
}

func (h *Host) spec(ref, id string, o Opening) containers.Spec {
	spec := h.Container
	spec.Name = "batch-" + h.run + "-" + strings.ToLower(rand.Text()[:8])
	spec.Image, spec.ImageID = ref, id
	if h.MaxCPUs > 0 {
		spec.CPUs = min(h.MaxCPUs, float64(h.info.CPUs))
	}
	spec.Labels = map[string]string{
		containers.LabelRun:      h.run,
		containers.LabelInstance: o.Instance.ID,
		containers.LabelAttempt:  strconv.Itoa(o.Attempt),
		containers.LabelLease:    h.Lease,
	}
	return spec
}
