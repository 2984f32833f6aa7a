//go:build !race

package main

import (
	"io"
	"runtime"
	"strings"
	"testing"

	"batch.example/batch/internal/tier"
)

// Together with the 1.7 MB that is allocated before main, help stays below the 3 MB at which
// the first garbage collection begins, which would take a tenth of its time.
func TestHelpAllocatesLittle(t *testing.T) {
	tier.Rest(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if code := program([]string{"--help"}, strings.NewReader(""), io.Discard, io.Discard); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	runtime.ReadMemStats(&after)
	const most = 1_200_000 // 1,060,000 in November 2026, and what other tests allocate meanwhile
	if n := after.TotalAlloc - before.TotalAlloc; n > most {
		t.Errorf("%d bytes for `batch --help`, want at most %d", n, most)
	}
}
