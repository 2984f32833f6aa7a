package main

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"unsafe"
)

// oomKills returns how many processes of the container were killed for memory so
// far, by the kernel, which may not tell, or by [guardMemory].
func oomKills() uint64 { return kernelKills() + guardKills.Load() }

func kernelKills() uint64 {
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

// openTasks opens the file with the number of processes and threads in the container. It
// returns -1 where the kernel does not tell.
func openTasks() int {
	for _, name := range []string{"/sys/fs/cgroup/pids.current", "/sys/fs/cgroup/pids/pids.current"} {
		if fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0); err == nil {
			return fd
		}
	}
	return -1
}

// tasks returns how many processes and threads the container has; 0 where the kernel does
// not tell. [process.killCrowd] says why its system call is raw.
func (f *family) tasks() int {
	var b [20]byte
	n, _, err := syscall.RawSyscall6(syscall.SYS_PREAD64, uintptr(f.tasksFile), uintptr(unsafe.Pointer(&b)), unsafe.Sizeof(b), 0, 0, 0)
	if err != 0 {
		return 0
	}
	count, _ := strconv.Atoi(string(bytes.TrimSpace(b[:n])))
	return count
}
