package owner

import (
	"fmt"

	"golang.org/x/sys/unix"
)

func machineID() string { return hashID(sysctl("kern.uuid")) }

func bootID() string { return sysctl("kern.bootsessionuuid") }

// pidSpace is the same for all: macOS has one.
func pidSpace() string { return "" }

func startOf(pid int) string {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return ""
	}
	t := p.Proc.P_starttime
	return fmt.Sprintf("%d.%06d", t.Sec, t.Usec)
}

// zombie is SZOMB of sys/proc.h.
const zombie = 5

// hasEnded reports whether a process has ended and its parent has not asked how.
func hasEnded(pid int) bool {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	return err == nil && p.Proc.P_stat == zombie
}

func sysctl(name string) string {
	v, err := unix.Sysctl(name)
	if err != nil {
		return ""
	}
	return v
}
