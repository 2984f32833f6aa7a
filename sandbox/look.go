package sandbox

import (
	"context"

	"batch.example/batch/docker"
)

// Found lists the images and containers on an engine that a run can use.
type Found struct {
	Images     map[string]bool // by name: whether the engine has the image
	Containers map[string]bool // ids of running containers that a run under the lease may reattach to
}

// Look asks the engine what [Start] and [Host.Open] would find. It changes nothing. Like
// Start, it refuses a network that does not exist.
func Look(ctx context.Context, c Config) (*Found, error) {
	engine, err := docker.Connect(ctx, c.Docker)
	if err != nil {
		return nil, err
	}
	defer engine.Close() //nolint:errcheck // nothing was started through it
	if err := engine.CheckNetwork(ctx, c.Container.Network); err != nil {
		return nil, err
	}
	f := &Found{Images: map[string]bool{}, Containers: map[string]bool{}}
	for _, in := range c.Instances {
		name := in.ImageName(c.Prefix)
		if _, asked := f.Images[name]; asked {
			continue
		}
		_, here, err := engine.Image(ctx, name, c.Container.Platform)
		f.Images[name] = here && err == nil // the instance will report the error
	}
	left, err := engine.Inherited(ctx, c.Lease)
	for _, s := range left {
		if s.State == "running" {
			f.Containers[s.ID] = true
		}
	}
	return f, err
}
