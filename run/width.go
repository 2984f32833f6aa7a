package run

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/docker/go-units"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/sandbox"
)

// filesEach is how many descriptors one instance needs: its shell, journal, logs and calls.
const filesEach = 16

// bound is a limit on how many instances can run at the same time.
type bound struct {
	n   int
	why string
}

// Width chooses how many of todo instances run at the same time: the lowest number that the
// cores, the memory and the open files allow. Each instance may use limit bytes of memory; 0
// means no limit. Why gives the reason, for a person.
func Width(m sandbox.Machine, limit int64, todo int) (n int, why string) {
	bounds := []bound{
		{sandbox.PerCore * m.Cores, fmt.Sprintf("%d for each of %d cores", sandbox.PerCore, m.Cores)},
		{todo, fmt.Sprintf("%d instances", todo)},
	}
	if m.Total > 0 {
		n, each := m.ByMemory(limit)
		bounds = append(bounds, bound{n, fmt.Sprintf("memory for %d, with %s for each and %s in reserve",
			n, units.BytesSize(float64(each)), units.BytesSize(float64(m.Reserve())))})
	}
	if m.Files > 0 {
		n := m.Files / filesEach
		bounds = append(bounds, bound{n, fmt.Sprintf("open files for %d", n)})
	}
	n = todo
	var all []string
	for _, b := range bounds {
		n = min(n, b.n)
		all = append(all, b.why)
	}
	n = max(1, n)
	return n, fmt.Sprintf("--workers auto: %d (%s)", n, strings.Join(all, "; "))
}

// workersOf returns how many instances engines take together; 0: one of them has no limit.
func workersOf(list []sandbox.Engine) (n int) {
	for _, e := range list {
		if e.Workers == 0 {
			return 0
		}
		n += e.Workers
	}
	return n
}

// WidthOf chooses how many of todo instances run at the same time on engines: as many as fit on
// all that answer, within the open files of this process and cores of this machine's cores. With
// one engine, it is [Width] unless the engine has a width of its own.
func WidthOf(ctx context.Context, list []sandbox.Engine, limit int64, todo, cores int) (n int, why string) {
	machines := sandbox.MeasureAll(ctx, list, cores)
	if len(list) == 1 && list[0].Workers == 0 {
		return Width(machines[0], limit, todo)
	}
	var parts []string
	for i, e := range list {
		m := machines[i]
		fit := e.Workers
		if fit == 0 {
			fit = max(1, m.Room(limit))
		}
		if m.Cores == 0 {
			fit = 0
			parts = append(parts, "none on "+e.Address)
		} else {
			parts = append(parts, fmt.Sprintf("%d on %s", fit, e.Address))
		}
		n += fit
	}
	parts = append(parts, fmt.Sprintf("%d instances", todo))
	n = min(n, todo)
	if files := sandbox.OpenFiles(); files > 0 {
		n = min(n, files/filesEach)
		parts = append(parts, fmt.Sprintf("open files for %d", files/filesEach))
	}
	n = max(1, n)
	return n, fmt.Sprintf("--workers auto: %d (%s)", n, strings.Join(parts, "; "))
}

// The files that are open at the same time, as e2e/scale measures them.
const (
	filesNeeded  = 4  // of an instance: its container's stream, a call, journal and log; beside them, its image
	filesBeside  = 64 // of the process
	filesWritten = 8  // instances for one file more, which is being written
)

// checkFiles refuses more instances at the same time than limit allows, which is how many files the
// process may open; 0: unknown. They have so many images. Without the check, instances would fail one by
// one, some of them after paid calls.
func checkFiles(width, images, limit int) error {
	need := func(n int) int { return filesBeside + filesNeeded*n + n/filesWritten + min(n, images) }
	if limit == 0 || need(width) <= limit {
		return nil
	}
	most := sort.Search(width, func(n int) bool { return need(n+1) > limit })
	return fault.Newf(fault.Usage, "%d instances at the same time need %d open files, and this process may open %d", width, need(width), limit).
		WithHint("raise the limit first with `ulimit -n %d`, or run fewer with `-w %d`", need(width), max(1, most))
}

// countImages returns how many images instances have.
func countImages(list []dataset.Instance) int {
	names := map[string]bool{}
	for _, in := range list {
		names[in.ImageName("")] = true
	}
	return len(names)
}
