package atomicfile_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
)

func TestDiskErrorsGiveHints(t *testing.T) {
	for _, cause := range []syscall.Errno{
		syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EACCES, syscall.EMFILE, syscall.ENOLCK, syscall.ENOTSUP, syscall.ENOSYS,
	} {
		err := atomicfile.Fault("locking the output directory", fmt.Errorf("wrapped: %w", cause))
		hint := fault.HintOf(err)
		if fault.KindOf(err) != fault.Host || hint == "" {
			t.Errorf("%v: got %v, hint %q; want a Host fault, some hint", cause, err, hint)
		}
		if cause == syscall.ENOLCK && !strings.Contains(hint, "no locks") {
			t.Errorf("%v: hint %q, want %q in the hint", cause, hint, "no locks")
		}
	}
}
