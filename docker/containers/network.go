package containers

import (
	"context"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"

	"batch.example/batch/docker/internal/daemon"
	"batch.example/batch/fault"
	"batch.example/batch/sandbox/engine"
)

const (
	sharedName   = "batch"
	labelNetwork = "batch.network"

	// sharedLimit is how long creating it may take, including a wait for another process.
	sharedLimit = 20 * time.Second

	optionMTU = "com.docker.network.driver.mtu"
)

// network returns the engine's name for a Spec's network, and
// creates the shared network if it is needed and does not exist yet.
func (f *Fleet) network(ctx context.Context, name string) (string, error) {
	if name != engine.Bridge {
		return name, nil
	}
	const op = "creating the containers' shared network"
	ctx, cancel := context.WithTimeout(ctx, sharedLimit)
	defer cancel()
	for {
		id, err := f.sharedNetwork(ctx)
		if err == nil && id == "" {
			err = f.makeShared(ctx)
		}
		switch {
		case id != "":
			return id, nil
		case err == nil || errdefs.IsConflict(err) || errdefs.IsPermissionDenied(err): // another process creates it
		default:
			return "", f.engine.Blame(err, fault.Transient, op)
		}
		if daemon.Sleep(ctx, sharedLimit/100) != nil {
			return "", fault.Newf(fault.Usage, "%s: a network or bridge %q that batch did not create already exists", op, sharedName).
				WithHint("remove it, or use it with --network %s", sharedName)
		}
	}
}

// CheckNetwork returns a Usage fault if name, in the form of [engine.Spec.Network], is a network
// that the engine does not have.
func (f *Fleet) CheckNetwork(ctx context.Context, name string) error {
	switch name {
	case "", "private", "slirp4netns", "pasta": // the last three are Podman's, which does not list them
		return nil
	}
	if !container.NetworkMode(name).IsUserDefined() || strings.ContainsAny(name, ":,") { // not a plain name: the engine checks it
		return nil
	}
	_, err := f.engine.API.NetworkInspect(ctx, name, network.InspectOptions{})
	if errdefs.IsNotFound(err) {
		return fault.Newf(fault.Usage, "network %q does not exist", name).
			WithHint("create it with `docker network create %s`, or choose one that `docker network ls` lists", name)
	}
	return f.engine.Blame(err, fault.Transient, "looking for network "+name)
}

// sharedNetwork returns the id of the shared network, empty when there is none.
func (f *Fleet) sharedNetwork(ctx context.Context) (string, error) {
	list, err := f.engine.API.NetworkList(ctx, network.ListOptions{Filters: filters.NewArgs(filters.Arg("label", labelNetwork))})
	if err != nil || len(list) == 0 {
		return "", err
	}
	return list[0].ID, nil
}

// makeShared creates the network. If several processes call it at the same time, one
// succeeds: an engine may allow two networks with the same name, and then attaches
// containers to neither, but it does not allow two with the same bridge.
func (f *Fleet) makeShared(ctx context.Context) error {
	options := map[string]string{
		"com.docker.network.bridge.enable_icc": "false",
		"com.docker.network.bridge.name":       sharedName,
	}
	// The engine applies its configured MTU only to its own bridge.
	if own, err := f.engine.API.NetworkInspect(ctx, "bridge", network.InspectOptions{}); err == nil && own.Options[optionMTU] != "" {
		options[optionMTU] = own.Options[optionMTU]
	}
	_, err := f.engine.API.NetworkCreate(ctx, sharedName, network.CreateOptions{
		Driver: "bridge", Options: options, Labels: map[string]string{labelNetwork: "shared"},
	})
	return err
}

// RemoveNetwork removes the network that containers share, unless a container
// of batch exists that might use it. It reports whether it removed
// one. The next container that needs it gets a new one.
func (f *Fleet) RemoveNetwork(ctx context.Context) (bool, error) {
	const op = "removing the containers' shared network"
	owned, err := f.Owned(ctx)
	if err != nil || len(owned) > 0 {
		return false, err
	}
	id, err := f.sharedNetwork(ctx)
	if err != nil || id == "" {
		return false, f.engine.Blame(err, fault.Transient, op)
	}
	err = f.engine.API.NetworkRemove(ctx, id)
	if errdefs.IsNotFound(err) || errdefs.IsPermissionDenied(err) { // gone, or in use by another container
		return false, nil
	}
	return err == nil, f.engine.Blame(err, fault.Transient, op)
}

// lacksNetwork reports whether a container could not start because its network
// does not exist. Not every engine reports that as the kind of the error.
func lacksNetwork(err error) bool {
	if err == nil {
		return false
	}
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "network ") && strings.Contains(text, " not found")
}
