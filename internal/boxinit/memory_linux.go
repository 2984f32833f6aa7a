package main

import (
	"bytes"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

// Kubernetes makes the kernel kill all processes of a container at once, this one too, when the
// container has used up its memory (memory.oom.group). All files of a pod's container would be
// lost. So this process kills the largest process before that, as the kernel does on other
// engines.

// guardKills is how many processes guardMemory has killed.
var guardKills atomic.Uint64

const (
	guardShare = 0.95                   // of the limit, above which a process is killed
	guardCalm  = 100 * time.Millisecond // between looks
	guardAlert = 10 * time.Millisecond  // between looks while more than half is used
	guardSpeed = 4 << 30                // bytes a second that processes can take
)

// guardMemory kills the largest process whenever the container uses nearly all of the memory that
// it may, which is a number of bytes as a text. It does not return, unless there is no limit.
//
// What no process holds, such as files in /dev/shm, stays. Then guardMemory lets the next command
// have half of the rest: it may be the command that removes these files.
func guardMemory(limit string) {
	most, err := strconv.ParseFloat(limit, 64)
	if err != nil || most <= 0 {
		return
	}
	usual := guardShare * most
	calm := min(guardCalm, time.Duration(most/3/guardSpeed*float64(time.Second)))
	for above := usual; ; {
		used := float64(usedMemory())
		switch {
		case used < usual:
			above = usual
		case used >= above:
			if pid := largest(); pid > 0 && syscall.Kill(pid, syscall.SIGKILL) == nil {
				guardKills.Add(1)
			}
			time.Sleep(guardAlert) // the kernel frees it
			if used = float64(usedMemory()); used >= above {
				above = used + (most-used)/2
			}
		}
		if used > most/2 {
			time.Sleep(guardAlert)
		} else {
			time.Sleep(max(calm, guardAlert))
		}
	}
}

// usedMemory returns the bytes of memory that the container uses, without what the kernel drops
// before it kills anything: cached files, also the active ones, and caches of names.
func usedMemory() uint64 {
	for _, v := range []struct {
		used, stat string
		dropped    []string
	}{
		{"/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat", []string{"inactive_file ", "active_file ", "slab_reclaimable "}},
		{"/sys/fs/cgroup/memory/memory.usage_in_bytes", "/sys/fs/cgroup/memory/memory.stat", []string{"total_inactive_file ", "total_active_file "}},
	} {
		used, err := os.ReadFile(v.used)
		if err != nil {
			continue
		}
		all, _ := strconv.ParseUint(string(bytes.TrimSpace(used)), 10, 64)
		stat, _ := os.ReadFile(v.stat)
		for line := range bytes.Lines(stat) {
			for _, name := range v.dropped {
				if rest, ok := bytes.CutPrefix(line, []byte(name)); ok {
					cached, _ := strconv.ParseUint(string(bytes.TrimSpace(rest)), 10, 64)
					all -= min(all, cached)
				}
			}
		}
		return all
	}
	return 0
}

// largest returns the process that has the most memory, except this one and its supervisors; 0: none.
func largest() (pid int) {
	supervisor := []byte("batch\x00" + superviseWord + "\x00")
	most := 0
	dirs, _ := os.ReadDir("/proc")
	for _, d := range dirs {
		id, err := strconv.Atoi(d.Name())
		if err != nil || id == os.Getpid() {
			continue
		}
		text, err := os.ReadFile("/proc/" + d.Name() + "/statm")
		fields := bytes.Fields(text)
		if err != nil || len(fields) < 2 {
			continue
		}
		// The link exe of a supervisor cannot be read: it is not dumpable.
		if args, _ := os.ReadFile("/proc/" + d.Name() + "/cmdline"); bytes.HasPrefix(args, supervisor) {
			continue
		}
		if pages, _ := strconv.Atoi(string(fields[1])); pages > most {
			pid, most = id, pages
		}
	}
	return pid
}
