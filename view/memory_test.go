//go:build !race

package view_test

import (
	"runtime"
	"testing"

	"batch.example/batch/internal/tier"
)

// TestTheMemoryOfAPage fails if the page of 500 instances x 4 runs allocates more in total than it
// may use at once.
func TestTheMemoryOfAPage(t *testing.T) {
	tier.Rest(t)
	d := invented(500, 4, 1)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	written(t, d)
	runtime.ReadMemStats(&after)
	const most = 300 << 20
	if used := after.TotalAlloc - before.TotalAlloc; used > most {
		t.Errorf("%d MB allocated, want at most %d", used>>20, most>>20)
	}
}
