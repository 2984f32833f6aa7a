package containers

import (
	"context"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"

	"batch.example/batch/docker/internal/engine"
	"batch.example/batch/fault"
)

const (
	// NetworkBridge as a [Spec]'s Network is the one bridge that all containers
	// of batch share: an engine has addresses for about thirty bridges, so that
	// one for each container would end a wide run. From it, containers reach what
	// the engine's machine reaches, but not one another.
	NetworkBridge = "bridge"

	sharedName   = "batch"
	labelNetwork = "batch.network"

	// sharedLimit is how long the making may take, a wait for another process's included.
	sharedLimit = 20 * time.Second

	optionMTU = "com.docker.network.driver.mtu"
)

// network returns the engine's name for what a Spec calls its network, and
// makes the shared one when it is not there yet.
func (f *Fleet) network(ctx context.Context, name string) (string, error) {
	if name != NetworkBridge {
		return name, nil
	}
	const op = "making the network that containers share"
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
		case err == nil || errdefs.IsConflict(err) || errdefs.IsPermissionDenied(err): // somebody else makes it
		default:
			return "", f.engine.Blame(err, fault.Transient, op)
		}
		if engine.Sleep(ctx, sharedLimit/100) != nil {
			return "", fault.Newf(fault.Usage, "%s: there is a network or bridge %q that batch did not make", op, sharedName).
				WithHint("remove it, or use it by its name: --network %s", sharedName)
		}
	}
}

// sharedNetwork returns the id of the shared network, empty when there is none.
func (f *Fleet) sharedNetwork(ctx context.Context) (string, error) {
	list, err := f.engine.API.NetworkList(ctx, network.ListOptions{Filters: filters.NewArgs(filters.Arg("label", labelNetwork))})
	if err != nil || len(list) == 0 {
		return "", err
	}
	return list[0].ID, nil
}

// makeShared makes the network. Of several processes that do so at the same
// time one succeeds: an engine may let two networks have one name, and then
// attaches no container to either, but not one bridge.
func (f *Fleet) makeShared(ctx context.Context) error {
	options := map[string]string{
		"com.docker.network.bridge.enable_icc": "false",
		"com.docker.network.bridge.name":       sharedName,
	}
	// The engine gives its own bridge the MTU it was set up with, and no other.
	if own, err := f.engine.API.NetworkInspect(ctx, "bridge", network.InspectOptions{}); err == nil && own.Options[optionMTU] != "" {
		options[optionMTU] = own.Options[optionMTU]
	}
	_, err := f.engine.API.NetworkCreate(ctx, sharedName, network.CreateOptions{
		Driver: "bridge", Options: options, Labels: map[string]string{labelNetwork: "shared"},
	})
	return err
}

// RemoveNetwork removes the network that containers share, unless a container
// of batch is there that might use it. It reports whether there was one to
// remove. The next container that asks for it gets a new one.
func (f *Fleet) RemoveNetwork(ctx context.Context) (bool, error) {
	const op = "removing the network that containers share"
	owned, err := f.Owned(ctx)
	if err != nil || len(owned) > 0 {
		return false, err
	}
	id, err := f.sharedNetwork(ctx)
	if err != nil || id == "" {
		return false, f.engine.Blame(err, fault.Transient, op)
	}
	err = f.engine.API.NetworkRemove(ctx, id)
	if errdefs.IsNotFound(err) || errdefs.IsPermissionDenied(err) { // gone, or in use by a container that is not ours
		return false, nil
	}
	return err == nil, f.engine.Blame(err, fault.Transient, op)
}

// lacksNetwork reports whether a container could not start because its network
// is not there. Not every engine tells that by the kind of the error.
func lacksNetwork(err error) bool {
	if err == nil {
		return false
	}
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "network ") && strings.Contains(text, " not found")
}
