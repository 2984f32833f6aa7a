package main

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// killLimit is how long the processes of a command may take to die.
const killLimit = 8 * time.Second

// kin is one process as /proc tells of it.
type kin struct {
	parent int
	start  uint64 // clock ticks after the machine's start
	dead   bool   // and not yet reaped
}

// look reads what /proc tells of one process; false when it is gone.
func look(pid int) (k kin, ok bool) {
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

// lookAround reads what /proc tells of all processes.
func lookAround() map[int]kin {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close() // only read
	names, _ := dir.Readdirnames(-1)
	all := map[int]kin{}
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if k, ok := look(pid); ok {
				all[pid] = k
			}
		}
	}
	return all
}

// below returns the living processes that stem from the one whose id is top, if that
// is not 0, or, for orphans, from a child of this process that is no supervisor.
func (f *family) below(all map[int]kin, top int, orphans bool) []int {
	me := os.Getpid()
	var found []int
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
			at = up
		}
		up := all[at].parent
		if top != 0 && up == top || orphans && up == me && f.supers[at] == nil {
			found = append(found, pid)
		}
	}
	return found
}

// superLimit is how long a supervisor with nothing below it may take to report that.
const superLimit = time.Second

// kill ends all processes of p and reports whether it could.
// A process that is stopped makes no more of them; so all that are there are stopped,
// killed, and looked for again until a look finds none.
func (p *process) kill() bool {
	for began := time.Now(); ; {
		if p.killOnce(time.Since(began) > superLimit) {
			return true
		}
		if time.Since(began) > killLimit {
			return false
		}
		time.Sleep(time.Millisecond)
	}
}

// killOnce reports whether nothing was left. A supervisor reports that nothing is
// below it any more, unless a command has stopped it.
func (p *process) killOnce(force bool) (none bool) {
	f := p.family
	f.mu.Lock()
	defer f.mu.Unlock()
	top := 0
	if p.super != nil {
		top = p.super.pid
	}
	all := lookAround()
	found := f.below(all, top, p.orphan)
	for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
		for _, pid := range found {
			send(pid, all[pid], signal)
		}
	}
	if len(found) > 0 || p.super == nil {
		return len(found) == 0
	}
	signal := syscall.SIGCONT
	if force {
		signal = syscall.SIGKILL
	}
	_ = syscall.Kill(top, signal)
	return false
}

// send sends a signal to the process that k tells of, and not to one that was given
// its id meanwhile.
func send(pid int, k kin, signal syscall.Signal) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		if err != unix.ESRCH { //nolint:errorlint // that is what syscalls return
			_ = syscall.Kill(pid, signal) // an old kernel, or one that is kept from it
		}
		return
	}
	defer syscall.Close(fd)
	if now, ok := look(pid); ok && now.start == k.start {
		_ = unix.PidfdSendSignal(fd, signal, nil, 0)
	}
}

// clear ends all processes of the container but this one, and reports whether it could.
func (f *family) clear() bool {
	if os.Getpid() != 1 { // a test's, beside all processes of a machine
		return false
	}
	f.starts.Lock()
	defer f.starts.Unlock()
	for late := time.Now().Add(killLimit); ; {
		_ = syscall.Kill(-1, syscall.SIGKILL)
		living := 0
		for pid, k := range lookAround() {
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
