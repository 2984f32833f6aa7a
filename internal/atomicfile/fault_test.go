package atomicfile_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
)

func TestADiskThatCannotDoWhatIsAskedIsToldWithAdvice(t *testing.T) {
	for _, cause := range []syscall.Errno{
		syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EACCES, syscall.EMFILE, syscall.ENOLCK, syscall.ENOTSUP, syscall.ENOSYS,
	} {
		err := atomicfile.Fault("locking the output directory", fmt.Errorf("wrapped: %w", cause))
		hint := fault.HintOf(err)
		if fault.KindOf(err) != fault.Host || hint == "" {
			t.Errorf("%v: %v, hint %q", cause, err, hint)
		}
		if cause == syscall.ENOLCK && !strings.Contains(hint, "no locks") {
			t.Errorf("%v: hint %q", cause, hint)
		}
	}
}
