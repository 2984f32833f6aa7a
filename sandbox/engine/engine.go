// Package engine defines the interface through which package sandbox runs containers, in
// Docker, in a cluster, or as processes of a test. An implementation is a package that
// implements [Engine] and passes the suite of package enginetest, and a row in package
// engines.
//
// Process 1 of each container is batch's helper (internal/boxinit); internal/box is its client.
// An implementation creates and removes containers, and carries the bytes between helper and
// client.
package engine

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/box"
	"batch.example/batch/sandbox/images"
	"batch.example/batch/vocab"
)

// ErrOutage is in the chain of every fault caused by losing the engine: the connection broke,
// or the engine was away while the container lived. Such a fault is Transient and says nothing
// about the instance; [Engine.Ready] waits until it makes sense to try again.
var ErrOutage = errors.New("the engine was lost")

// ErrNoSpace is in the chain of a Transient fault for the engine's full disk, which says nothing about
// the instance.
var ErrNoSpace = errors.New("the engine's disk is full")

// ErrHeld is in the chain of the fault of an [Engine.Attach] to a container that another process may
// use. The container must stay.
var ErrHeld = errors.New("another process may use the container")

// Connect connects to an engine. The caller must Close it. If the engine cannot be reached, the
// error is a Host fault with a hint.
type Connect func(ctx context.Context, o Options) (Engine, error)

// Options configure a connection to an engine; the zero value works.
type Options struct {
	Patience    time.Duration      // how long to wait for an engine that stopped answering; 0: 5 minutes
	Pulls       int                // images pulled at the same time; 0: 4
	PullTimeout time.Duration      // for one download of an image, without the waits before it; 0: none
	Builds      map[string]Build   // images that are built where they would be pulled, by name
	Pod         []byte             // further settings of each pod, the JSON of environment.pod; other engines ignore it
	Before      func(string) error // for tests: makes the named call to the engine fail; nil: never
	Log         *slog.Logger       // nil discards
}

// Build says how an image is made from a folder of this machine that has a Dockerfile.
type Build struct {
	Folder string        // absolute
	Limit  time.Duration // of one build, without the wait for its turn
}

// Engine runs containers. It is safe for concurrent use. Errors are faults with blame.
type Engine interface {
	// Create creates a container and starts it. After an error, or when ctx ends, nothing is left. A
	// Spec without an image, with a relative WorkDir, a negative limit or an absent network is a Usage
	// fault; an absent image or WorkDir is the Instance's.
	Create(ctx context.Context, s Spec) (Container, error)
	// Attach returns a running container, which another process may have created. A container that is
	// gone or has ended is a Transient fault.
	Attach(ctx context.Context, id string) (Container, error)
	// Owned lists the containers that any process of batch created here, running or not.
	Owned(ctx context.Context) ([]Owned, error)
	// Adopt marks a container as taken over by the process that holds the lease: see [Owned.Adopter].
	Adopt(ctx context.Context, id, lease string) error
	// Remove kills and removes a container. It is not an error if the container is gone.
	Remove(ctx context.Context, id string) error
	// CheckNetwork returns a Usage fault if the engine has no network of this name, in the form of
	// [Spec.Network].
	CheckNetwork(ctx context.Context, name string) error

	// Ready returns at once while the engine answers. Otherwise it waits until the engine answers
	// again, up to Options' Patience, and then returns a Host fault.
	Ready(ctx context.Context) error
	About(ctx context.Context) (About, error)
	Close() error // containers stay: their owner has to remove them
}

// Container is one running container. It is safe for concurrent use. The caller must Remove or
// Close it. It runs commands and programs and copies files as a [box.Box].
type Container interface {
	Run(ctx context.Context, c box.Command) (vocab.Output, error)
	Prepare(ctx context.Context, c box.Command)
	Stream(ctx context.Context, p box.Program) (*box.Stream, error)
	Listen(ctx context.Context) (*box.Listener, error)
	CopyIn(ctx context.Context, name string, mode fs.FileMode, data []byte) error
	CopyOut(ctx context.Context, name string) ([]byte, error)
	Clear(ctx context.Context, doing string) error

	ID() string
	ImageID() string                  // of the image that it was created from
	Remove(ctx context.Context) error // also when ctx is canceled
	Close()                           // ends the connection; the container stays, as long as [Spec.Unattended] says
}

// Owned is a container that a process of batch created.
type Owned struct {
	ID       string
	Name     string
	Image    string
	Run      string
	Instance string
	Attempt  string
	Host     string // the machine of the process that created it
	State    string // as the engine calls it: created, running, exited, ...
	Created  time.Time
	Expires  time.Time // Created plus [Spec].Unattended; zero: it does not end by itself

	// Abandoned means that no process will remove the container. Either its creator is dead.
	// Or nothing is known about its creator or about the holder of its lease, because they
	// are on another machine or in another container, and the container has ended and its
	// deadline passed a while ago. A container that still runs after its deadline is not
	// abandoned: this machine's or its creator's clock is wrong, and the container may be in
	// use. Nor is a container abandoned while its creator is known to live, or while a living
	// process holds its lease.
	Abandoned bool

	Program bool   // see [LabelProgram]
	Lease   string // see [owner.Lease]; empty: none
	Adopter string // names the lease of the process that took it over, see [owner.Adopter]; empty: none
	Dead    bool   // the process that created it is dead
	Unseen  bool   // nothing is known about that process here; the holder of its lease knows that it is dead
	Mine    bool   // this process created it
}

// About describes an engine and the machine on which it runs. Fields that the engine does not
// know are empty.
type About struct {
	ID            string // identifies the engine, whatever its address; empty: unknown
	Address       string // of the engine, such as unix:///var/run/docker.sock
	Local         bool   // it runs on this machine, and uses its memory
	Store         string // identifies where it keeps its images: engines with the same Store share them
	Name          string // the machine's name
	Version       string // the engine's
	APIVersion    string // the one agreed on
	OS, Arch      string // of containers: linux, amd64 (Go's names)
	System        string // such as Debian GNU/Linux 12
	Kernel        string
	CPUs          int    // a guess where Memory is not known
	Memory        int64  // bytes; 0: not known
	RootDir       string // where the engine keeps its data, on its machine
	ImageDir      string // where its images and containers' files are: RootDir, or the directory of the machine's containerd
	StorageDriver string
	CgroupVersion string
	Containers    int // all of them
	Running       int
	Images        int
	Rootless      bool
	Podman        bool
	Warnings      []string
	// Unlimited lists which of CPUs, memory, swap and processes the engine cannot limit:
	// containers run without these limits. Podman does not report them; batch learns of one
	// only when Podman refuses a limit.
	Unlimited []string
}

// Optional interfaces of a container and of an engine, found by a type assertion:

// Puller is a container whose image was pulled within [Engine.Create].
type Puller interface {
	PullTime() time.Duration // as far as the engine knows
}

// Sized is a container that knows how much of the engine's disk its own files take.
type Sized interface {
	// OwnFiles returns their size and, if it is known, their number.
	OwnFiles(ctx context.Context) (bytes, files int64, err error)
}

// Images is an engine that keeps images, which are pulled and removed. Without it, images are
// present when a container needs them, and take no space.
type Images interface {
	ImageEngine() images.Engine
	// Present reports by name which of many images the engine has.
	Present(ctx context.Context, refs []string, platform string) (map[string]bool, error)
}

// Volumes is an engine with volumes that containers share. Without it, each container scrubs its
// own git history.
type Volumes interface {
	// CreateVolume creates an empty volume and returns its name. If this process is killed, a later
	// ReapVolumes removes it.
	CreateVolume(ctx context.Context) (string, error)
	// RemoveVolume removes a volume. It is not an error if the volume is gone. A volume that a container
	// uses stays.
	RemoveVolume(ctx context.Context, name string) error
	// ReapVolumes removes the volumes that no process will use again, and reports whether there
	// was one.
	ReapVolumes(ctx context.Context) (bool, error)
}

// Tidier is an engine that keeps things for all containers, such as a network.
type Tidier interface {
	// Tidy removes these things if no container uses them, and reports whether it removed
	// one.
	Tidy(ctx context.Context) (bool, error)
}

// DiskLimiter is an engine that may enforce [Spec.Disk] by itself.
type DiskLimiter interface {
	// LimitsDisk reports whether the engine enforces it; known is false as long as the
	// engine does not know.
	LimitsDisk(ctx context.Context) (able, known bool, err error)
}

// Registry is an engine that can ask registries for images.
type Registry interface {
	Images
	// Offered returns nil if the registry of an image has it for this machine.
	Offered(ctx context.Context, ref string) error
}

// Successor is an engine that may know what follows when this process is killed.
type Successor interface {
	// Succeeded reports whether another process will then be started, which takes over the containers.
	Succeeded() bool
}

// Checker is an engine that has requirements of its own, which `batch doctor` reports.
type Checker interface {
	// Check checks them and changes nothing.
	Check(ctx context.Context) []Finding
}

// Finding is the result of one check.
type Finding struct {
	Name string
	Text string // what was found; empty with an Err
	Err  error  // a fault: runs cannot work; nil: they can
}

// tryLimit is the time limit of the command in a container that is tried.
const tryLimit = time.Minute

// Try creates a container, in which a command must work, and removes it.
func Try(ctx context.Context, e Engine, s Spec) error {
	c, err := e.Create(ctx, s)
	if err != nil {
		return err
	}
	out, err := c.Run(ctx, box.Command{Script: "echo works", Timeout: tryLimit})
	if said := string(out.Bytes); err == nil && said != "works\n" {
		err = fault.Newf(fault.Instance, "`echo works` in a container of %s: exit code %d, output %q", s.Image, out.ExitCode, said)
	}
	return errors.Join(err, c.Remove(context.WithoutCancel(ctx)))
}
