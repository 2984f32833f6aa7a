package sandbox

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

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
	list, err := askAll(c.Engines, func(e Engine) (*Found, error) { return look(ctx, c, e.Connect) })
	if err != nil {
		return nil, err
	}
	all := &Found{Images: map[string]bool{}, Containers: map[string]bool{}}
	for _, f := range list {
		for ref, here := range f.Images {
			all.Images[ref] = all.Images[ref] || here
		}
		maps.Copy(all.Containers, f.Containers)
	}
	return all, nil
}

// Succeeded reports whether, when this process is killed, another one will take over its containers on all
// engines: see [engine.Successor].
func Succeeded(ctx context.Context, c Config) bool {
	list, err := askAll(c.Engines, func(e Engine) (bool, error) {
		on, err := e.Connect(ctx, c.Options)
		if err != nil {
			return false, err
		}
		s, ok := on.(engine.Successor)
		return ok && s.Succeeded(), on.Close()
	})
	return err == nil && len(list) == len(c.Engines) && !slices.Contains(list, false)
}

// askAll calls ask for all engines at the same time, and returns the answers in the order of the
// engines, without the engines that failed. It returns an error if all failed, or if one had a Usage
// fault.
func askAll[T any](list []Engine, ask func(Engine) (T, error)) (answers []T, err error) {
	all, errs := make([]T, len(list)), make([]error, len(list))
	var asking sync.WaitGroup
	for i, e := range list {
		asking.Go(func() { all[i], errs[i] = ask(e) })
	}
	asking.Wait()
	for i, err := range errs {
		if fault.KindOf(err) == fault.Usage {
			return nil, err
		}
		if err == nil {
			answers = append(answers, all[i])
		}
	}
	switch {
	case len(answers) > 0:
		return answers, nil
	case len(errs) == 1:
		return nil, errs[0]
	}
	return nil, fault.New(fault.Host, "no engine can be reached", errors.Join(errs...))
}

func look(ctx context.Context, c Config, connect engine.Connect) (*Found, error) {
	e, err := connect(ctx, c.Options)
	if err != nil {
		return nil, err
	}
	defer e.Close() //nolint:errcheck // nothing was started through it
	if err := c.check(ctx, e); err != nil {
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
