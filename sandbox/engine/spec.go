package engine

import (
	"path"
	"slices"
	"strings"
	"time"

	"batch.example/batch/fault"
)

// The labels that say what a container is for. Its creator sets them in [Spec.Labels]; engines add
// their own.
const (
	LabelRun      = "batch.run"
	LabelInstance = "batch.instance"
	LabelAttempt  = "batch.attempt"

	// LabelProgram says that the container has an agent of its own, which may outlive the process of batch: any
	// value.
	LabelProgram = "batch.program"

	// LabelLease is a lease: see package owner. While a living process holds it, a
	// container with a dead creator is not abandoned.
	LabelLease = "batch.lease"
)

// Bridge as a [Spec]'s Network is a network with access to the outside. All containers of an engine
// share it, but cannot reach each other.
const Bridge = "bridge"

// Spec describes a container. Only Image must be set.
type Spec struct {
	Name    string // empty: a name made from the labels
	Image   string // must exist on the engine
	ImageID string // the id of Image when it was looked up; empty: its current id
	WorkDir string // absolute, and in the image; empty: the image's
	Env     []string
	User    string // empty: the image's
	Labels  map[string]string
	Memory  int64 // bytes; 0: no limit
	// MemorySwap is memory and swap together, in bytes; 0: the value of Memory, so that
	// nothing is swapped; -1: no limit.
	MemorySwap int64
	CPUs       float64  // 0: no limit
	Idle       bool     // processes of other containers go before its own, where the engine can do that
	PidsLimit  int64    // processes and threads; 0: 4096, negative: no limit
	Network    string   // [Bridge], or the name of an existing network; empty or "none": none
	Platform   string   // os/arch; empty: the engine's
	CapAdd     []string // Linux capabilities in addition to the default ones, or ALL
	CapDrop    []string // capabilities to remove, or ALL

	// SecurityOpt is added after no-new-privileges, as docker run does.
	SecurityOpt []string
	ExtraHosts  []string // name:address, for /etc/hosts
	ShmSize     int64    // bytes of /dev/shm; 0: the engine's default

	Volumes []Volume
	Files   Files

	// Mounts are directories and files of the engine's machine, which the container may read.
	Mounts   []Mount
	Tmpfs    map[string]string // further file systems in memory: options by path
	Ulimits  []string          // such as nofile=1024:2048
	ReadOnly bool              // the image's files cannot be changed

	// Disk limits the size of the container's own files, in bytes, without the volumes of
	// its image; 0: no limit.
	Disk int64

	// Unattended is how long the container lives without a connection to a process of
	// batch. Then it ends by itself. 0: forever.
	Unattended time.Duration
}

// Check returns a Usage fault if s describes no container on any engine. Op begins it.
func (s Spec) Check(op string) error {
	switch {
	case s.Image == "":
		return fault.New(fault.Usage, op+": no image given", nil)
	case s.WorkDir != "" && !path.IsAbs(s.WorkDir):
		return fault.Newf(fault.Usage, "%s: working directory %q: expected an absolute path", op, s.WorkDir)
	case s.Memory < 0 || s.CPUs < 0 || s.Unattended < 0 || s.ShmSize < 0 || s.Disk < 0:
		return fault.New(fault.Usage, op+": memory, cpus, shm size, disk and unattended time must not be negative", nil)
	case s.Files.Folder != "" && s.Files.Image != "":
		return fault.New(fault.Usage, op+": the files are of a folder or of an image, not of both", nil)
	}
	return nil
}

// FilesDir is where a container has its [Files]. It is not below /dev, which some agents replace where they
// run commands.
const FilesDir = "/opt/batch-agent"

// Files are files that a container may read and execute at [FilesDir], whatever its user. An engine keeps one
// copy for all containers. Zero: none.
type Files struct {
	Folder string // of this machine: an absolute path without links
	Digest string // of what is in Folder, see package files
	Image  string // or the name of an image, whose root is at FilesDir; it is pulled if the engine lacks it
}

// Volume is a volume of [Volumes] in a container.
type Volume struct {
	Name     string
	Path     string // where it is mounted
	Writable bool
}

// Mount is a directory or a file of the engine's machine, at a path in a container.
type Mount struct{ Source, Target string }

// capabilities list what root may do in a container of any engine; the comment of package docker
// says why.
var capabilities = []string{
	"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "NET_BIND_SERVICE", "SETGID", "SETUID", "SYS_CHROOT",
}

const allCapabilities = "ALL"

// Grants returns the capabilities to add and to drop so that a container has the list
// capabilities, without the ones in drop, plus the ones in add. Docker run does the same with the
// engine's own list. The names in add and drop stay as they were given, for the engine to
// check.
func Grants(add, drop []string) (adds, drops []string) {
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
