package sandbox

import (
	"context"
	"errors"
	"maps"

	"batch.example/batch/fault"
	"batch.example/batch/sandbox/engine"
)

// Found lists the images and containers on an engine that a run can use.
type Found struct {
	Images     map[string]bool // by name: whether the engine has the image
	Containers map[string]bool // ids of running containers that a run under the lease may reattach to
}

// Look finds the images and containers that [Start] and [Host.Open] would find, and changes
// nothing. Like Start, it refuses a network that does not exist, and leaves out an engine that does
// not answer if another one does.
func Look(ctx context.Context, c Config) (*Found, error) {
	all := &Found{Images: map[string]bool{}, Containers: map[string]bool{}}
	return all, onEngines(c.Engines, func(e Engine) error {
		f, err := look(ctx, c, e.Connect)
		if err != nil {
			return err
		}
		for ref, here := range f.Images {
			all.Images[ref] = all.Images[ref] || here
		}
		maps.Copy(all.Containers, f.Containers)
		return nil
	})
}

// onEngines calls f for each engine. It returns an error if f has failed for all of them, or with a
// Usage fault for one.
func onEngines(list []Engine, f func(Engine) error) error {
	var errs []error
	for _, e := range list {
		err := f(e)
		if fault.KindOf(err) == fault.Usage {
			return err
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) < len(list) {
		return nil
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return fault.New(fault.Host, "no engine can be reached", errors.Join(errs...))
}

func look(ctx context.Context, c Config, connect engine.Connect) (*Found, error) {
	e, err := connect(ctx, c.Options)
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
