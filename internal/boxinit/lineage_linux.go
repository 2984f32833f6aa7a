package main

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// killLimit is how long the processes of a command may take to die, in at least killRounds
// rounds: one round beside thousands of processes may take as long.
const (
	killLimit  = 8 * time.Second
	killRounds = 5
)

// procStat describes one process, from /proc/PID/stat.
type procStat struct {
	parent int
	start  uint64 // clock ticks after the machine's start
	dead   bool   // and not yet reaped
}

// readProc reads the procStat of one process; false if the process is gone.
func readProc(pid int) (k procStat, ok bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return k, false
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 20 {
		return k, false
	}
	k.parent, _ = strconv.Atoi(string(fields[1]))
	k.start, _ = strconv.ParseUint(string(fields[19]), 10, 64)
	k.dead = fields[0][0] == 'Z' || fields[0][0] == 'X'
	return k, true
}

// readProcs reads the procStat of all processes, by id.
func readProcs() map[int]procStat {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close() // only read
	names, _ := dir.Readdirnames(-1)
	all := map[int]procStat{}
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if k, ok := readProc(pid); ok {
				all[pid] = k
			}
		}
	}
	return all
}

// lastPid returns the id that the kernel gave last, in the words of the kernel.
func lastPid() string {
	b, _ := os.ReadFile("/proc/loadavg")
	return string(b[bytes.LastIndexByte(b, ' ')+1:])
}

// below returns the living descendants of the process with the id top, if that
// is not 0, and, with orphans, of the children of this process that are not supervisors. Sure is
// false if an ancestor of a process has ended meanwhile, so that it is not known whose descendant it is.
func (f *family) below(all map[int]procStat, top int, orphans bool) (found []int, sure bool) {
	me := os.Getpid()
	sure = true
	for pid, k := range all {
		if k.dead || pid == me || pid == top {
			continue
		}
		at := pid
		for n := 0; n < len(all); n++ {
			up := all[at].parent
			if up == me || up == top || up == 0 {
				break
			}
			if _, known := all[up]; !known && syscall.Kill(up, 0) == syscall.ESRCH {
				sure = false
			}
			at = up
		}
		up := all[at].parent
		if top != 0 && up == top || orphans && up == me && f.supers[at] == nil {
			found = append(found, pid)
		}
	}
	return found, sure
}

// superLimit is how long a supervisor with nothing below it may take to report that.
const superLimit = time.Second

// kill ends all processes of p and reports whether it could.
// A stopped process cannot start more processes. So kill stops all existing ones,
// kills them and looks again until it finds none. If that takes long, it stops all others too.
func (p *process) kill() bool {
	p.killCrowd()
	began := time.Now()
	defer p.family.stopCrowd(began.Add(superLimit))()
	for round := 1; ; round++ {
		last := time.Now()
		if p.killOnce(time.Since(began) > superLimit) {
			return true
		}
		if round >= killRounds && time.Since(began) > killLimit {
			return false
		}
		p.family.letCrowdEnd(time.Since(last))
	}
}

// killOnce kills the processes that it finds and reports whether nothing was left. A
// supervisor reports when nothing is left below it, unless it was stopped. Without its report, a list
// proves that only if no process was made meanwhile: a process that is not in the list yet may be the
// child of one that has ended when its turn comes.
func (p *process) killOnce(force bool) (none bool) {
	f := p.family
	f.mu.Lock()
	defer f.mu.Unlock()
	top := 0
	if p.super != nil {
		top = p.super.pid
	}
	before := lastPid()
	all := readProcs()
	found, sure := f.below(all, top, p.orphan)
	none = sure && len(found) == 0 && lastPid() == before
	for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
		for _, pid := range found {
			send(pid, all[pid], signal)
		}
	}
	if p.super == nil {
		return none || !p.orphan
	}
	signal := syscall.SIGCONT
	if force && none {
		signal = syscall.SIGKILL
	}
	_ = syscall.Kill(top, signal)
	return false
}

// send sends a signal to the process that k describes, and not to another process that
// got its id meanwhile.
func send(pid int, k procStat, signal syscall.Signal) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		if err != unix.ESRCH { //nolint:errorlint // that is what syscalls return
			_ = syscall.Kill(pid, signal) // an old kernel, or pidfd_open is not allowed
		}
		return
	}
	defer syscall.Close(fd)
	if now, ok := readProc(pid); ok && now.start == k.start {
		_ = unix.PidfdSendSignal(fd, signal, nil, 0)
	}
}

// clear ends all processes of the container except this one, and reports whether it could.
func (f *family) clear() bool {
	if os.Getpid() != 1 { // in a test, this would kill all processes of the machine
		return false
	}
	f.starts.Lock()
	defer f.starts.Unlock()
	for late := time.Now().Add(killLimit); ; {
		_ = syscall.Kill(-1, syscall.SIGKILL)
		living := 0
		for pid, k := range readProcs() {
			if pid != os.Getpid() && !k.dead {
				living++
			}
		}
		if living == 0 || time.Now().After(late) {
			return living == 0
		}
		time.Sleep(time.Millisecond)
	}
}
