package main

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// condition holds the properties of a supervisor that a command can change and that the
// next command would inherit.
type condition struct {
	limits   [16]unix.Rlimit
	schedule unix.SchedAttr // nice among it
	cpus     unix.CPUSet
	io       uintptr
	oom      string
}

// conditions returns the conditions of this thread.
func conditions() (c condition) {
	for i := range c.limits {
		_ = unix.Getrlimit(i, &c.limits[i])
	}
	if a, err := unix.SchedGetAttr(0, 0); err == nil {
		c.schedule = *a
	}
	_ = unix.SchedGetaffinity(0, &c.cpus)
	const process = 1 // IOPRIO_WHO_PROCESS
	c.io, _, _ = syscall.Syscall(unix.SYS_IOPRIO_GET, process, 0, 0)
	oom, _ := os.ReadFile("/proc/self/oom_score_adj")
	c.oom = string(oom)
	return c
}
