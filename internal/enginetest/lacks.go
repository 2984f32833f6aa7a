package enginetest

import (
	"os"
	"testing"
)

// Lacks skips a test for something that this machine lacks. Where BATCH_DOCKER=require, as on CI's
// machine, the test fails: it would pass there without testing.
func Lacks(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("BATCH_DOCKER") == "require" {
		t.Fatalf("BATCH_DOCKER=require: "+format, args...)
	}
	t.Skipf(format, args...)
}
