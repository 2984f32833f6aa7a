package e2e

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// PeakMemory watches a process until it has ended and returns the most memory
// that it used, in MiB. What wait reports includes the memory of this test process
// before the exec. Without /proc it returns 0.
func PeakMemory(pid int) (mib int) {
	for {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		_, line, found := strings.Cut(string(status), "VmHWM:")
		if err != nil || !found { // ended
			return mib
		}
		var kib int
		if _, err := fmt.Sscan(line, &kib); err == nil {
			mib = max(mib, kib>>10)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
