package sandbox

import (
	"context"

	"batch.example/batch/sandbox/engine"
)

// Found lists the images and containers on an engine that a run can use.
type Found struct {
	Images     map[string]bool // by name: whether the engine has the image
	Containers map[string]bool // ids of running containers that a run under the lease may reattach to
}

// Look finds the images and containers that [Start] and [Host.Open] would find, and changes
// nothing. Like Start, it refuses a network that does not exist.
func Look(ctx context.Context, c Config) (*Found, error) {
	e, err := c.Engine(ctx, c.Options)
	if err != nil {
		return nil, err
	}
	defer e.Close() //nolint:errcheck // nothing was started through it
	if err := e.CheckNetwork(ctx, c.Container.Network); err != nil {
		return nil, err
	}
	f := &Found{Containers: map[string]bool{}}
	var refs []string
	for _, n := range Needs(c.Instances, c.Prefix) {
		refs = append(refs, n.Ref)
	}
	if f.Images, err = present(ctx, e, refs, c.Container.Platform); err != nil {
		return nil, err
	}
	left, err := engine.Inherited(ctx, e, c.Lease)
	for _, s := range left {
		if s.State == "running" {
			f.Containers[s.ID] = true
		}
	}
	return f, err
}
