package main

import (
	"bytes"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// crowd is how many processes and threads are so many that they leave this process too
// little of the processor to find them and to stop them one by one.
const crowd = 100

// stops counts the commands that are being killed and need all processes stopped. It has a
// lock of its own: while thousands of processes end, the family's is held to reap them.
type stops struct {
	sync.Mutex
	n int
}

// killCrowd kills most processes of p with one call if they are a crowd: the processes of a
// fork bomb are usually in the interpreter's process group, and no process of another command
// can be. Its system calls are raw. After any other one, this thread may need the right to run
// Go code back from a thread that waits for the processor for seconds.
func (p *process) killCrowd() {
	if p.family.tasks() <= crowd {
		return
	}
	const nothing = 0 // no signal: only asks whether the interpreter still has its id
	if _, _, gone := syscall.RawSyscall6(unix.SYS_PIDFD_SEND_SIGNAL, uintptr(p.pidfd), nothing, 0, 0, 0, 0); gone == 0 {
		_, _, _ = syscall.RawSyscall(syscall.SYS_KILL, uintptr(-p.pid), uintptr(syscall.SIGKILL), 0)
	}
}

// crowdTick is how often stopCrowd counts the processes.
const crowdTick = 10 * time.Millisecond

// stopCrowd stops all other processes of the container with one call as soon as they are a
// crowd, or at the given time, so that none of them can fork or run. The caller calls goOn to continue
// the remaining ones.
func (f *family) stopCrowd(late time.Time) (goOn func()) {
	if os.Getpid() != 1 { // in a test, this would stop all processes of the machine
		return func() {}
	}
	stopped := f.stopIfCrowd(late)
	over := make(chan struct{})
	var count sync.WaitGroup
	count.Go(func() {
		for !stopped {
			select {
			case <-over:
				return
			case <-time.After(crowdTick):
			}
			stopped = f.stopIfCrowd(late)
		}
	})
	return func() {
		close(over)
		count.Wait()
		if stopped {
			f.continueCrowd()
		}
	}
}

// stopIfCrowd stops all other processes if they are a crowd or it is late, and reports whether it did.
func (f *family) stopIfCrowd(late time.Time) bool {
	if f.tasks() <= crowd && time.Now().Before(late) {
		return false
	}
	f.stops.Lock()
	defer f.stops.Unlock()
	if f.stops.n == 0 { // a second call would hide which processes were stopped before
		_ = syscall.Kill(-1, syscall.SIGSTOP)
	}
	f.stops.n++
	return true
}

// continueCrowd continues what stopIfCrowd stopped when no other command is being killed.
func (f *family) continueCrowd() {
	f.stops.Lock()
	defer f.stops.Unlock()
	if f.stops.n--; f.stops.n > 0 {
		return
	}
	for pid, k := range readProcs() {
		if pid != os.Getpid() && !wasStopped(pid) {
			send(pid, k, syscall.SIGCONT)
		}
	}
}

// wasStopped reports whether a process was stopped before [family.stopIfCrowd]: then the SIGSTOP
// is still pending, which the other processes have taken.
func wasStopped(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return false
	}
	stopped, pending := false, uint64(0)
	for line := range bytes.Lines(b) {
		key, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(":\t"))
		switch string(key) {
		case "State":
			stopped = bytes.HasPrefix(value, []byte("T"))
		case "ShdPnd":
			pending, _ = strconv.ParseUint(string(value), 16, 64)
		}
	}
	return stopped && pending&(1<<(syscall.SIGSTOP-1)) != 0
}

// letCrowdEnd waits at most as long as the last round took: thousands of killed
// processes need the processor to end.
func (f *family) letCrowdEnd(last time.Duration) {
	for end := time.Now().Add(last); ; {
		time.Sleep(time.Millisecond)
		if f.tasks() <= crowd || time.Now().After(end) {
			return
		}
	}
}
