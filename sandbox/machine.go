package sandbox

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
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

// The room of one sandbox.
const (
	PerCore  = 4       // sandboxes: an agent waits for its model most of the time
	PerAgent = 2 << 30 // bytes that a test suite needs, unless its container may have less
)

// ByMemory returns for how many sandboxes there is memory, and how many bytes each needs, if each may
// use limit bytes; 0 means no limit.
func (m Machine) ByMemory(limit int64) (n int, each int64) {
	each = PerAgent
	if limit > 0 {
		each = min(each, limit)
	}
	return int(max(0, m.Available-m.Reserve()) / each), each
}

// Room returns for how many sandboxes there are cores and, as far as it is known, memory.
func (m Machine) Room(limit int64) int {
	n := PerCore * m.Cores
	if m.Total > 0 {
		byMemory, _ := m.ByMemory(limit)
		n = min(n, byMemory)
	}
	return n
}

// Within returns the part of a machine that sandboxes may use on the engine.
func (e Engine) Within(m Machine) Machine {
	if e.CPUs > 0 {
		m.Cores = min(m.Cores, max(1, int(e.CPUs)))
	}
	if e.Memory > 0 && m.Cores > 0 {
		m.Total, m.Available = e.Memory, e.Memory+(Machine{Total: e.Memory}).Reserve() // all of it is for sandboxes
	}
	return m
}

// MeasureAll asks engines about their machines, and takes what they may use. An only engine that
// does not answer has this machine; one of several has nothing. If an engine is on this machine, the
// memory is read here, and no more than cores of its cores count.
func MeasureAll(ctx context.Context, list []Engine, cores int) []Machine {
	all := make([]Machine, len(list))
	var asking sync.WaitGroup
	for i, e := range list {
		asking.Go(func() { all[i] = e.Within(measure(ctx, e.Connect, len(list) == 1, cores)) })
	}
	asking.Wait()
	return all
}

func measure(ctx context.Context, connect engine.Connect, only bool, cores int) Machine {
	about, err := aboutEngine(ctx, connect)
	if err != nil && !only {
		return Machine{}
	}
	m, here := Machine{Cores: cores}, true
	if err == nil {
		m, here = machineOf(about), about.Local
	}
	if mem, known := meminfo.Read(os.DirFS("/proc")); here && known {
		m.Total, m.Available = mem.Total, mem.Available
	}
	if here {
		m.Cores = min(m.Cores, cores)
	}
	m.Files = OpenFiles()
	return m
}

// Cores returns how many cores machines have together, at least 1.
func Cores(list []Machine) int {
	n := 0
	for _, m := range list {
		n += m.Cores
	}
	return max(1, n)
}

// machineOf returns the machine of an engine, as the engine knows it.
func machineOf(a engine.About) Machine {
	return Machine{Cores: a.CPUs, Total: a.Memory, Available: a.Memory}
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

// OpenFiles returns how many descriptors this process may open; 0: unknown. Go has raised the limit
// to the highest one that the user may set.
func OpenFiles() int {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return 0
	}
	return int(min(l.Cur, 1<<30))
}

// withMemory returns the engines without those on this machine while it is short of memory; all of
// them, if no other is left.
func withMemory(sites []*site) []*site {
	local := func(s *site) bool { return s.about.Local }
	if !slices.ContainsFunc(sites, local) || shortOfMemory(os.DirFS("/proc")) == "" {
		return sites
	}
	if others := slices.DeleteFunc(slices.Clone(sites), local); len(others) > 0 {
		return others
	}
	return sites
}

// ShortOfMemory says why no further sandbox should be opened for now: in what way this
// machine is short of memory. It is empty if there is enough memory, if that is not known,
// or if an engine is on another machine.
func (c *common) ShortOfMemory() string {
	if slices.ContainsFunc(c.all(), func(s *site) bool { return !s.about.Local }) {
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
