package run

import (
	"fmt"
	"strings"

	"github.com/docker/go-units"

	"batch.example/batch/sandbox"
)

// The numbers from which --workers auto chooses.
const (
	perCore   = 4       // an agent waits for its model most of the time
	perAgent  = 2 << 30 // bytes that a test suite needs, unless its container may have less
	filesEach = 16      // descriptors of one instance: its shell, journal, logs and calls
)

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
		{perCore * m.Cores, fmt.Sprintf("%d for each of %d cores", perCore, m.Cores)},
		{todo, fmt.Sprintf("%d instances", todo)},
	}
	if m.Total > 0 {
		each := int64(perAgent)
		if limit > 0 {
			each = min(each, limit)
		}
		n := int(max(0, m.Available-m.Reserve()) / each)
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
