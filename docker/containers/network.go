package containers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/versions"

	"batch.example/batch/fault"
	"batch.example/batch/internal/box"
	"batch.example/batch/internal/retry"
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
		if retry.Sleep(ctx, sharedLimit/100) != nil {
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

// plugError means that an unplugged container does not have what others have, so that
// another one must be created with a network sandbox.
type plugError struct {
	error
	everywhere bool // the reason is the engine, not the image or its user
}

// Unwrap returns the cause.
func (e plugError) Unwrap() error { return e.error }

// unplugs reports whether a container of the Spec can do without a network sandbox, as far
// as that is known.
func (f *Fleet) unplugs(s spec) bool {
	if !s.noNetwork() || len(s.ExtraHosts) > 0 { // the engine knows addresses for special names
		return false
	}
	_, all := f.plugged.Load(account{})
	_, some := f.plugged.Load(s.account())
	return !all && !some
}

// account is a user of an image; the zero value stands for all users of all images.
type account struct{ image, user string }

func (s spec) account() account { return account{s.from(), s.User} }

// learnPlugged reports whether err, from creating an unplugged container, means that a
// container of the Spec needs a network sandbox. Later ones then get one at once.
func (f *Fleet) learnPlugged(s spec, err error) bool {
	plug, found := errors.AsType[plugError](err)
	refused := err != nil && refusesUnplugged(err)
	switch {
	case refused || found && plug.everywhere:
		f.plugged.Store(account{}, true)
	case found:
		f.plugged.Store(s.account(), true)
	default:
		return false
	}
	f.engine.Log.Info("containers get a network sandbox", "image", s.Image, "user", s.User, "why", err)
	return true
}

// refusesUnplugged reports whether err is an engine's refusal of one of the settings that
// unplug makes.
func refusesUnplugged(err error) bool {
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "networkdisabled") || strings.Contains(text, "disable_ipv6")
}

const (
	noIPv6 = "net.ipv6.conf.all.disable_ipv6"

	// loopbackIPv6API came with Docker 26.0. In the network sandboxes of older engines, the
	// loopback device has no IPv6 address.
	loopbackIPv6API = "1.45"
)

// unplug asks for no network sandbox.
func (f *Fleet) unplug(c *container.Config, h *container.HostConfig) {
	c.NetworkDisabled = true
	h.ExtraHosts = nil
	if versions.LessThan(f.engine.API.ClientVersion(), loopbackIPv6API) {
		h.Sysctls = map[string]string{noIPv6: "1"}
	}
}

// alone checks that an unplugged container reaches itself and nothing else, and writes the
// files that the engine would have written.
func (c *Container) alone(ctx context.Context) error {
	if err := c.isolated(ctx); err != nil {
		return asPlugError(err, true)
	}
	for name, text := range map[string]string{"/etc/hosts": hosts, "/etc/resolv.conf": resolver} {
		if err := c.CopyIn(ctx, name, 0o644, []byte(text)); err != nil {
			return asPlugError(err, false)
		}
	}
	return nil
}

// asPlugError turns an error of the container's own files into a plugError.
func asPlugError(err error, everywhere bool) error {
	e, ok := errors.AsType[*box.Error](err)
	if !ok {
		return err
	}
	return plugError{err, everywhere || e.Errno == 16} // EBUSY: the engine has mounted the file in any case
}

// hosts is /etc/hosts as engines write it for a container without a network.
const hosts = `127.0.0.1	localhost
::1	localhost ip6-localhost ip6-loopback
fe00::0	ip6-localnet
ff00::0	ip6-mcastprefix
ff02::1	ip6-allnodes
ff02::2	ip6-allrouters
127.0.0.1	` + aloneName + "\n"

// resolver names a server, as engines do, because some programs refuse a file without one.
const resolver = "nameserver 127.0.0.1\n"

// isolated returns nil if the container's only working network device is the loopback.
func (c *Container) isolated(ctx context.Context) error {
	flags, err := c.CopyOut(ctx, "/sys/class/net/lo/flags")
	if err != nil {
		return err
	}
	routes, err := c.CopyOut(ctx, "/proc/net/route")
	if err != nil {
		return err
	}
	addresses, err := c.CopyOut(ctx, "/proc/net/if_inet6")
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // without IPv6
		return err
	}
	return onlyLoopback(flags, routes, addresses)
}

// onlyLoopback returns nil if the loopback device is up, no device has an IPv4 route, and no
// other one an IPv6 address.
func onlyLoopback(flags, routes, addresses []byte) error {
	var up uint
	if _, err := fmt.Sscanf(string(flags), "0x%x", &up); err != nil || up&1 == 0 {
		return plugError{fmt.Errorf("the loopback device is down: flags %.20q", flags), true}
	}
	inet6 := slices.ContainsFunc(strings.Split(string(addresses), "\n"), func(line string) bool {
		return strings.TrimSpace(line) != "" && !strings.HasSuffix(strings.TrimSpace(line), " lo")
	})
	if inet6 || bytes.Count(bytes.TrimSpace(routes), []byte("\n")) > 0 { // the first line is a title
		return plugError{errors.New("the network namespace is not empty"), true}
	}
	return nil
}
