package main

import (
	"bytes"
	"os"
	"strconv"
)

// oomKills returns how many processes of the container were killed for memory so
// far; 0 where the kernel does not tell.
func oomKills() uint64 {
	for _, name := range []string{"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"} {
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		for line := range bytes.Lines(b) {
			if rest, ok := bytes.CutPrefix(line, []byte("oom_kill ")); ok {
				n, _ := strconv.ParseUint(string(bytes.TrimSpace(rest)), 10, 64)
				return n
			}
		}
	}
	return 0
}

// tasks returns how many processes and threads the container has; 0 where the kernel does
// not tell.
func tasks() (n int) {
	for _, name := range []string{"/sys/fs/cgroup/pids.current", "/sys/fs/cgroup/pids/pids.current"} {
		if b, err := os.ReadFile(name); err == nil {
			n, _ = strconv.Atoi(string(bytes.TrimSpace(b)))
		}
	}
	return n
}
