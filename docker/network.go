package docker

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"

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

	optionMTU = "com.docker.network.driver.mtu"
)

// network returns the engine's name for what a Spec calls its network, and
// makes the shared one when it is not there yet.
func (e *Engine) network(ctx context.Context, name string) (string, error) {
	if name != NetworkBridge {
		return name, nil
	}
	const op = "making the network that containers share"
	for range 2 {
		ids, err := e.sharedNetworks(ctx)
		if err != nil {
			return "", e.blame(err, fault.Transient, op)
		}
		if len(ids) > 0 {
			return ids[0], nil
		}
		err = e.makeShared(ctx)
		if err != nil && !errdefs.IsConflict(err) { // somebody else may have just made it
			return "", e.blame(err, fault.Transient, op)
		}
	}
	return "", fault.Newf(fault.Usage, "%s: there is a network %q that batch did not make", op, sharedName).
		WithHint("remove it, or use it by its name: --network %s", sharedName)
}

// sharedNetworks returns the ids of the shared network: the one to use, and
// any that was made in the same moment, which clean-up removes.
func (e *Engine) sharedNetworks(ctx context.Context) ([]string, error) {
	list, err := e.api.NetworkList(ctx, network.ListOptions{Filters: filters.NewArgs(filters.Arg("label", labelNetwork))})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b network.Summary) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) // every process chooses the same
	})
	var ids []string
	for _, n := range list {
		ids = append(ids, n.ID)
	}
	return ids, nil
}

func (e *Engine) makeShared(ctx context.Context) error {
	options := map[string]string{"com.docker.network.bridge.enable_icc": "false"}
	// The engine gives its own bridge the MTU it was set up with, and no other.
	if own, err := e.api.NetworkInspect(ctx, "bridge", network.InspectOptions{}); err == nil && own.Options[optionMTU] != "" {
		options[optionMTU] = own.Options[optionMTU]
	}
	_, err := e.api.NetworkCreate(ctx, sharedName, network.CreateOptions{
		Driver: "bridge", Options: options, Labels: map[string]string{labelNetwork: "shared"},
	})
	return err
}

// RemoveNetwork removes the network that containers share, unless a container
// of batch is there that might use it. It reports whether there was one to
// remove. The next container that asks for it gets a new one.
func (e *Engine) RemoveNetwork(ctx context.Context) (bool, error) {
	const op = "removing the network that containers share"
	owned, err := e.Owned(ctx)
	if err != nil || len(owned) > 0 {
		return false, err
	}
	ids, err := e.sharedNetworks(ctx)
	if err != nil {
		return false, e.blame(err, fault.Transient, op)
	}
	removed := false
	var errs []error
	for _, id := range ids {
		err := e.api.NetworkRemove(ctx, id)
		switch {
		case err == nil:
			removed = true
		case errdefs.IsNotFound(err) || errdefs.IsPermissionDenied(err): // gone, or in use by a container that is not ours
		default:
			errs = append(errs, e.blame(err, fault.Transient, op))
		}
	}
	return removed, errors.Join(errs...)
}
