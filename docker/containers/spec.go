package containers

import (
	"cmp"
	"encoding/hex"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"

	"batch.example/batch/docker/boxinit"
	"batch.example/batch/docker/internal/owner"
	"batch.example/batch/fault"
	"batch.example/batch/internal/boxinit/wire"
)

// The labels that say what a container is for. The first three are the
// caller's to set in [Spec.Labels]; the others are set by [Fleet.Create].
const (
	LabelRun      = "batch.run"
	LabelInstance = "batch.instance"
	LabelAttempt  = "batch.attempt"
	LabelOwner    = "batch.owner"   // the process that made it: see [Owner]
	LabelImage    = "batch.image"   // the Spec's name for it: the engine knows the container by the id
	LabelExpires  = "batch.expires" // RFC 3339; before that it does not end by itself

	labelWorkDir = "batch.workdir" // the Spec's, for Attach
	labelDisk    = "batch.disk"    // likewise, in bytes

	labelUnattended = "batch.unattended" // likewise, as a time.Duration
	labelKey        = "batch.key"        // of the connection to its init; nothing in the container can read labels
)

const (
	networkNone = "none"

	// aloneName is what a container without a network is called: there the
	// engine writes no name of its own to /etc/hosts, and gives it a random one.
	aloneName = "sandbox"
)

// defaultPids stops a fork bomb and hinders no test suite.
const defaultPids = 4096

// Spec describes a container. Only Image must be set.
type Spec struct {
	Name    string // one is made up when empty
	Image   string // must be there: see [images.Store.Ensure]
	ImageID string // what Image meant when it was looked up; empty: what it means now
	WorkDir string // absolute, and in the image; empty: the image's
	Env     []string
	User    string // empty: the image's
	Labels  map[string]string
	Memory  int64 // bytes; 0: no limit
	// MemorySwap is memory and swap together, in bytes; 0: as Memory, so that
	// nothing is swapped; -1: no limit.
	MemorySwap int64
	CPUs       float64  // 0: no limit
	PidsLimit  int64    // processes and threads; 0: 4096, negative: no limit
	Network    string   // empty: none; see [NetworkBridge]; or the name of one that exists
	Platform   string   // os/arch; empty: the engine's
	CapAdd     []string // Linux capabilities to give besides the usual ones, or ALL
	CapDrop    []string // and to take away, or ALL

	// SecurityOpt comes after no-new-privileges, as docker run has it.
	SecurityOpt []string
	ExtraHosts  []string // name:address, for /etc/hosts
	ShmSize     int64    // bytes of /dev/shm; 0: the engine's default

	// Disk is what the container's own files may take, in bytes, volumes of its
	// image left out; 0: no limit. Where the storage driver has no quota for it,
	// it is watched: see the package comment.
	Disk int64

	// Unattended is how long the container lives when no process of batch is connected
	// to it: then it ends by itself. 0: for ever.
	Unattended time.Duration
}

func (s Spec) check() error {
	switch {
	case s.Image == "":
		return fault.New(fault.Usage, "creating a container: no image given", nil)
	case s.WorkDir != "" && !path.IsAbs(s.WorkDir):
		return fault.Newf(fault.Usage, "creating a container: working directory %q: expected an absolute path", s.WorkDir)
	case s.Memory < 0 || s.CPUs < 0 || s.Unattended < 0 || s.ShmSize < 0 || s.Disk < 0:
		return fault.New(fault.Usage, "creating a container: memory, cpus, shm size, disk and unattended time must not be negative", nil)
	case s.Memory > 0 && s.Memory < 6<<20:
		return fault.Newf(fault.Usage, "creating a container: %d bytes of memory are less than the 6 MiB docker needs", s.Memory)
	}
	return nil
}

// alone reports whether the container has no network.
func (s Spec) alone() bool { return s.Network == "" || s.Network == networkNone }

func (s Spec) config(now time.Time, o owner.Owner, key wire.Key) *container.Config {
	c := &container.Config{
		Image: cmp.Or(s.ImageID, s.Image), Env: s.Env, User: s.User, Labels: s.labels(now, o),
		Entrypoint:  []string{boxinit.Path},
		OpenStdin:   true,
		StopSignal:  "SIGKILL", // the init takes no notice of others
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
	}
	if s.alone() {
		c.Hostname = aloneName
	}
	if s.WorkDir != "" {
		c.WorkingDir = "/" // the engine would make one that the image lacks
	}
	c.Labels[labelKey] = hex.EncodeToString(key[:])
	return c
}

func (s Spec) labels(now time.Time, o owner.Owner) map[string]string {
	l := map[string]string{}
	maps.Copy(l, s.Labels)
	l[LabelOwner], l[LabelImage] = o.String(), s.Image
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

func (s Spec) hostConfig() *container.HostConfig {
	no := false
	h := &container.HostConfig{
		Init:        &no, // it has one of ours
		NetworkMode: networkNone,
		SecurityOpt: append([]string{"no-new-privileges"}, s.SecurityOpt...),
		ExtraHosts:  s.ExtraHosts,
		LogConfig:   container.LogConfig{Type: "none"},
		ShmSize:     s.ShmSize,
	}
	if s.Network != "" {
		h.NetworkMode = container.NetworkMode(s.Network)
	}
	if s.alone() && !slices.ContainsFunc(s.ExtraHosts, func(h string) bool { return strings.HasPrefix(h, aloneName+":") }) {
		h.ExtraHosts = append(slices.Clone(s.ExtraHosts), aloneName+":127.0.0.1")
	}
	h.CapAdd, h.CapDrop = grants(s.CapAdd, s.CapDrop)
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
	if s.Disk > 0 { // where the engine has no quota for it, it is watched
		h.StorageOpt = s.storage()
	}
	return h
}

// capabilities are what root may do in a container; the package's comment says why.
var capabilities = []string{
	"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "NET_BIND_SERVICE", "SETGID", "SETUID", "SYS_CHROOT",
}

const allCapabilities = "ALL"

// grants returns what to add and to drop so that a container has our
// capabilities less those in drop and those in add besides, as docker run has
// it with the engine's own set. Names stay as they were given where the engine
// has to judge them.
func grants(add, drop []string) (adds, drops []string) {
	dropped := func(name string) bool {
		return slices.ContainsFunc(drop, func(d string) bool { d = capability(d); return d == name || d == allCapabilities })
	}
	if slices.ContainsFunc(add, func(a string) bool { return capability(a) == allCapabilities }) {
		return add, drop // all but the dropped ones
	}
	for _, name := range capabilities {
		if !dropped(name) {
			adds = append(adds, name)
		}
	}
	return append(adds, add...), append([]string{allCapabilities}, drop...)
}

func capability(name string) string {
	return strings.TrimPrefix(strings.ToUpper(name), "CAP_")
}
