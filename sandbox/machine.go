package sandbox

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"time"

	"github.com/docker/go-units"
	"golang.org/x/sys/unix"

	"batch.example/batch/internal/meminfo"
	"batch.example/batch/sandbox/engine"
)

// Machine has the resources for sandboxes on the machine where they run.
type Machine struct {
	Cores            int
	Total, Available int64 // bytes of memory; 0: unknown
	Files            int   // descriptors that this process may open; 0: unknown
}

// Reserve returns the memory that sandboxes leave to the rest of the machine: a tenth, at
// least 256 MiB and at most 4 GiB.
func (m Machine) Reserve() int64 { return min(max(m.Total/10, 256<<20), 4<<30) }

// Measure asks the engine about its machine. If the engine does not answer, Measure
// measures this machine. If the engine is on this machine, Measure reads the memory here.
func Measure(ctx context.Context, connect engine.Connect) Machine {
	m := Machine{Cores: runtime.NumCPU(), Files: openFiles()}
	here := true
	if about, err := aboutEngine(ctx, connect); err == nil {
		m.Cores, m.Total, m.Available, here = about.CPUs, about.Memory, about.Memory, about.Local
	}
	if mem, known := meminfo.Read(os.DirFS("/proc")); here && known {
		m.Total, m.Available = mem.Total, mem.Available
	}
	return m
}

func aboutEngine(ctx context.Context, connect engine.Connect) (engine.About, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	e, err := connect(ctx, engine.Options{})
	if err != nil {
		return engine.About{}, err
	}
	defer e.Close() //nolint:errcheck // nothing was started through it
	return e.About(ctx)
}

func openFiles() int {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return 0
	}
	return int(min(l.Cur, 1<<30))
}

// ShortOfMemory says why no further sandbox should be opened for now: in what way this
// machine is short of memory. It is empty if there is enough memory, if that is not known,
// or if the engine is on another machine.
func (c *common) ShortOfMemory() string {
	if !c.about.Local {
		return ""
	}
	return shortOfMemory(os.DirFS("/proc"))
}

// stallLimit is the share of time for which processes may wait for memory.
const stallLimit = 0.1

func shortOfMemory(proc fs.FS) string {
	m, known := meminfo.Read(proc)
	switch {
	case !known:
		return ""
	case m.Available < (Machine{Total: m.Total}).Reserve():
		return fmt.Sprintf("only %s of memory is available", units.BytesSize(float64(m.Available)))
	case m.Stalled > stallLimit:
		return fmt.Sprintf("processes wait for memory %.0f %% of the time", 100*m.Stalled)
	}
	return ""
}
