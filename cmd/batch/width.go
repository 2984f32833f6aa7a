package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/docker/go-units"
	"golang.org/x/sys/unix"

	"batch.example/batch/docker"
	"batch.example/batch/internal/meminfo"
	"batch.example/batch/runner"
)

// width is the value of --workers: a number, or "auto" until it is resolved.
type width struct {
	n    int
	auto bool
	why  string // what auto was resolved by, for a person
}

// Set implements pflag.Value.
func (w *width) Set(s string) error {
	if s == "auto" {
		*w = width{auto: true}
		return nil
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return errors.New("expected a number or auto")
	}
	*w = width{n: n}
	return nil
}

// String implements pflag.Value.
func (w *width) String() string {
	if w.auto {
		return "auto"
	}
	return strconv.Itoa(w.n)
}

// Type implements pflag.Value.
func (w *width) Type() string { return "N|auto" }

// The rule of --workers auto.
const (
	perCore   = 4       // an agent waits for its model most of the time
	perAgent  = 2 << 30 // bytes that a test suite needs, unless its container may have less
	filesEach = 16      // descriptors of one instance: its shell, journal, logs and calls
)

// reserve is the memory that instances leave to the rest of the machine: a
// tenth, at least 256 MiB and at most 4 GiB.
func reserve(total int64) int64 { return min(max(total/10, 256<<20), 4<<30) }

// machine is where the containers run.
type machine struct {
	cores            int
	total, available int64 // bytes of memory; 0: unknown
	files            int   // descriptors this process may open; 0: unknown
}

// bound is one thing that limits how many instances can run at once.
type bound struct {
	n   int
	why string
}

// resolve chooses n for at most todo instances, each of which may use limit
// bytes, 0 being no limit: the least of what the cores, the memory and the
// descriptors allow. A number that was given stays.
func (w *width) resolve(m machine, limit int64, todo int) {
	if !w.auto {
		return
	}
	bounds := []bound{
		{perCore * m.cores, fmt.Sprintf("%d for each of %d cores", perCore, m.cores)},
		{todo, fmt.Sprintf("%d instances", todo)},
	}
	if m.total > 0 {
		each := int64(perAgent)
		if limit > 0 {
			each = min(each, limit)
		}
		n := int(max(0, m.available-reserve(m.total)) / each)
		bounds = append(bounds, bound{n, fmt.Sprintf("memory for %d, of %s each and %s left over",
			n, units.BytesSize(float64(each)), units.BytesSize(float64(reserve(m.total))))})
	}
	if m.files > 0 {
		n := m.files / filesEach
		bounds = append(bounds, bound{n, fmt.Sprintf("open files for %d", n)})
	}
	w.n = todo
	var all []string
	for _, b := range bounds {
		w.n = min(w.n, b.n)
		all = append(all, b.why)
	}
	w.n = max(1, w.n)
	w.why = fmt.Sprintf("--workers auto: %d (%s)", w.n, strings.Join(all, "; "))
}

// machine asks the engine where containers run, and this machine where the
// engine does not answer or is here.
func (a *app) machine(ctx context.Context) machine {
	m := machine{cores: runtime.NumCPU(), files: openFiles()}
	here := true
	if info, host, err := a.engineInfo(ctx); err == nil {
		m.cores, m.total, m.available = info.CPUs, info.Memory, info.Memory
		here = isHere(host)
	}
	if mem, known := meminfo.Read(os.DirFS("/proc")); here && known {
		m.total, m.available = mem.Total, mem.Available
	}
	return m
}

func (a *app) engineInfo(ctx context.Context) (docker.Info, string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	engine, err := docker.Connect(ctx, docker.FromEnv(a.getenv, a.home))
	if err != nil {
		return docker.Info{}, "", err
	}
	defer engine.Close()
	info, err := engine.Info(ctx)
	return info, engine.Host(), err
}

// isHere reports whether the engine at host uses this machine's memory.
func isHere(host string) bool { return strings.HasPrefix(host, "unix://") }

func openFiles() int {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return 0
	}
	return int(min(l.Cur, 1<<30))
}

// gate returns what slows admission of containers on the engine at host.
func gate(host string) runner.Gate {
	if !isHere(host) {
		return nil
	}
	return memoryGate{os.DirFS("/proc")}
}

// memoryGate is a runner.Gate that closes while this machine is short of memory.
type memoryGate struct{ proc fs.FS }

// stallLimit is the share of time that processes may wait for memory.
const stallLimit = 0.1

// Closed implements runner.Gate. What is not known keeps nobody out.
func (g memoryGate) Closed() string {
	m, known := meminfo.Read(g.proc)
	switch {
	case !known:
		return ""
	case m.Available < reserve(m.Total):
		return fmt.Sprintf("only %s of memory are available", units.BytesSize(float64(m.Available)))
	case m.Stalled > stallLimit:
		return fmt.Sprintf("processes wait for memory %.0f %% of the time", 100*m.Stalled)
	}
	return ""
}
