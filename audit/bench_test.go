package audit_test

import (
	"strings"
	"testing"

	"batch.example/batch/audit"
)

// An attempt with 100 steps and a megabyte of output.
func BenchmarkAttempt(b *testing.B) {
	output := strings.Repeat("src/total.py:12:    return self.normalized(value)  # of the total\n", 160)
	var transcript []string
	for range 100 {
		transcript = append(transcript, "cd /testbed && grep -rn normalized src | head -100 && sed -n '1,20p' src/total.py\n=> "+output)
	}
	v, r := attempt("a__b-1", transcript...), row()
	b.SetBytes(int64(100 * len(output)))
	b.ReportAllocs()
	for b.Loop() {
		if found, _ := audit.Attempt(v, r, nil); len(found) > 0 {
			b.Fatal(found)
		}
	}
}
