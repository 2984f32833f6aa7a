//go:build !race

package logparse_test

import (
	"strings"
	"testing"
	"time"

	"batch.example/batch/grade/logparse"
	"batch.example/batch/internal/tier"
)

// Every parser reads a long log quickly, whatever text it repeats.
func TestLongLogsOfRebenchV2TakeLinearTime(t *testing.T) {
	tier.Rest(t)
	names, _ := recordedOfRebenchV2(t)
	for _, piece := range []string{"<testcase name=\"a\">", "ok 1 - x {\n", "<?xml", "<?xml version=\"1.0\"?><a>", "a b ", "Running com.a.B\n", "[ERROR] a.a.", "(skipped) ", "FAILED", "{\n", "lein test a "} {
		log := strings.Repeat(piece, 1<<18/len(piece))
		for _, name := range names {
			began := time.Now()
			_, _ = logparse.RebenchV2(name, log)
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("%s takes %v for %q", name, took, piece)
			}
		}
	}
}
