package containers

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/go-units"

	"batch.example/batch/docker/boxinit"
	"batch.example/batch/fault"
	"batch.example/batch/internal/boxinit/wire"
	"batch.example/batch/internal/owner"
	"batch.example/batch/sandbox/engine"
)

// The labels that [Fleet.Create] adds to the caller's labels.
const (
	LabelOwner   = "batch.owner"   // the process that created it: see package owner
	LabelImage   = "batch.image"   // the name of the image in the Spec: the engine may report only the image's id
	LabelExpires = "batch.expires" // RFC 3339; before this time it does not end by itself

	labelWorkDir = "batch.workdir" // Spec.WorkDir, for Attach
	labelDisk    = "batch.disk"    // Spec.Disk, for Attach, in bytes

	labelUnattended = "batch.unattended"    // Spec.Unattended, for Attach, as a time.Duration
	labelMachine    = "batch.lease.machine" // of the lease: versions of batch before it know the path alone
	labelKey        = "batch.key"           // of the connection to its init; nothing in the container can read labels
)

const (
	networkNone = "none"

	// aloneName is the host name of a container without a network. The engine would
	// choose a random name and not write it to /etc/hosts.
	aloneName = "sandbox"
)

// leastShares is the smallest weight that the kernel takes; 1,024 is the default.
const leastShares = 2

// defaultPids stops a fork bomb and is enough for any test suite.
const defaultPids = 4096

// spec describes a container and converts the description to requests to Docker.
type spec struct{ engine.Spec }

func (s spec) check() error {
	const op = "creating a container"
	if err := s.Check(op); err != nil {
		return err
	}
	if s.Memory > 0 && s.Memory < 6<<20 {
		return fault.Newf(fault.Usage, "%s: %d bytes of memory are less than the 6 MiB docker needs", op, s.Memory)
	}
	for _, text := range s.Ulimits {
		if _, err := units.ParseUlimit(text); err != nil {
			return fault.New(fault.Usage, op, err)
		}
	}
	return nil
}

// longestInstance is how many bytes of an instance id a container's name holds.
const longestInstance = 64

// generatedName is the name that `docker ps` shows: batch-INSTANCE-ATTEMPT-RANDOM, from
// the labels. A container with a network gets a random name: it can look up its own name at
// the engine's name server, and an agent must not learn the instance's id, which names the
// change that solves it.
func (s spec) generatedName() string {
	id := s.Labels[engine.LabelInstance]
	if id == "" || !s.noNetwork() {
		return randomName()
	}
	valid := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_.-", r) {
			return r
		}
		return '_'
	}, id)
	parts := []string{"batch", valid[:min(len(valid), longestInstance)]}
	if n, err := strconv.Atoi(s.Labels[engine.LabelAttempt]); err == nil {
		parts = append(parts, strconv.Itoa(n))
	}
	return strings.Join(append(parts, strings.ToLower(rand.Text()[:8])), "-")
}

func randomName() string { return "batch-" + strings.ToLower(rand.Text()[:12]) }

// noNetwork reports whether the container has no network.
func (s spec) noNetwork() bool { return s.Network == "" || s.Network == networkNone }

// from names the image for the engine.
func (s spec) from() string { return cmp.Or(s.ImageID, s.Image) }

func (s spec) config(now time.Time, o owner.Owner, key wire.Key) *container.Config {
	c := &container.Config{
		Image: s.from(), Env: s.Env, User: s.User, Labels: s.labels(now, o),
		Entrypoint:  []string{boxinit.Path},
		OpenStdin:   true,
		StopSignal:  "SIGKILL", // the init ignores all others
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
	}
	if s.noNetwork() {
		c.Hostname = aloneName
	}
	if s.WorkDir != "" {
		c.WorkingDir = "/" // the engine would create a directory that the image lacks
	}
	c.Labels[labelKey] = hex.EncodeToString(key[:])
	return c
}

func (s spec) labels(now time.Time, o owner.Owner) map[string]string {
	l := map[string]string{}
	maps.Copy(l, s.Labels)
	l[LabelOwner], l[LabelImage] = o.String(), s.Image
	if lease := l[engine.LabelLease]; lease != "" {
		l[labelMachine], l[engine.LabelLease] = owner.SplitLease(lease)
	}
	if s.WorkDir != "" {
		l[labelWorkDir] = s.WorkDir
	}
	if s.Disk > 0 {
		l[labelDisk] = strconv.FormatInt(s.Disk, 10)
	}
	if s.Unattended > 0 {
		l[labelUnattended] = s.Unattended.String()
		l[LabelExpires] = now.Add(s.Unattended).UTC().Format(time.RFC3339)
	}
	return l
}

func (s spec) hostConfig() *container.HostConfig {
	no := false
	h := &container.HostConfig{
		Init:        &no, // process 1 is batch's helper
		NetworkMode: networkNone,
		SecurityOpt: append([]string{"no-new-privileges"}, s.SecurityOpt...),
		ExtraHosts:  s.ExtraHosts,
		LogConfig:   container.LogConfig{Type: "none"},
		ShmSize:     s.ShmSize,
	}
	if s.Network != "" {
		h.NetworkMode = container.NetworkMode(s.Network)
	}
	if s.noNetwork() && !slices.ContainsFunc(s.ExtraHosts, func(h string) bool { return strings.HasPrefix(h, aloneName+":") }) {
		h.ExtraHosts = append(slices.Clone(s.ExtraHosts), aloneName+":127.0.0.1")
	}
	h.CapAdd, h.CapDrop = engine.Grants(s.CapAdd, s.CapDrop)
	pids := s.PidsLimit
	if pids == 0 {
		pids = defaultPids
	}
	h.PidsLimit = &pids
	h.Memory, h.MemorySwap = s.Memory, s.Memory
	if s.MemorySwap != 0 {
		h.MemorySwap = s.MemorySwap
	}
	h.NanoCPUs = int64(s.CPUs * 1e9)
	if s.Idle {
		h.CPUShares = leastShares
	}
	h.Tmpfs, h.ReadonlyRootfs = s.Tmpfs, s.ReadOnly
	for _, text := range s.Ulimits {
		if u, err := units.ParseUlimit(text); err == nil { // check has refused others
			h.Ulimits = append(h.Ulimits, u)
		}
	}
	for _, m := range s.Mounts {
		h.Mounts = append(h.Mounts, mount.Mount{
			Type: mount.TypeBind, Source: m.Source, Target: m.Target, ReadOnly: true,
			BindOptions: &mount.BindOptions{NonRecursive: true}, // what is mounted below could be writable
		})
	}
	if s.Disk > 0 { // DropUnlimited removes it where the engine has no quota
		h.StorageOpt = s.storage()
	}
	return h
}
