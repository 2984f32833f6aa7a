package main

import (
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"batch.example/batch/internal/boxinit/wire"
)

// keyLimit is how long the key may take to come.
const keyLimit = 2 * time.Minute

func main() {
	if len(os.Args) > 1 && os.Args[1] == superviseWord {
		supervise(os.Args[2:])
		return
	}
	// Whatever reads this process's memory or descriptors could speak for it.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	// Alone in the container there is no other reaper; a test runs it elsewhere.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	debug.SetGCPercent(20)
	runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0))) // while one forks, another watches
	hireThreads(10)
	_ = os.Chdir("/") // the image's directory is the commands'
	born := ignoreSignals()
	dropFaults()
	keepLimits()
	late := time.AfterFunc(keyLimit, func() { os.Exit(wire.ExitLease) })
	var key wire.Key
	if _, err := io.ReadFull(os.Stdin, key[:]); err != nil {
		os.Exit(wire.ExitLease)
	}
	late.Stop()
	s := newServer(key)
	go s.family.reap(born)
	s.serve(os.Stdin, os.Stdout)
	s.wait()
}

// keepLimits keeps others from setting this process's limits, for which they must have
// the same user and group ids. What is kept apart here is given up with the next exec,
// so that commands do not differ.
func keepLimits() { _ = syscall.Setresgid(-1, -1, 65534) }

// ignoreSignals keeps the signals from ending the process. They are caught and not
// ignored, since what is ignored would be so in every command, too. It returns where
// the ends of children are told.
func ignoreSignals() <-chan os.Signal {
	others := make(chan os.Signal, 1) // when it is full, what comes is dropped
	signal.Notify(others)
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGCHLD)
	return ends
}

// dropFaults gives the signals of faults back to the kernel, which keeps those that
// are sent from within from process 1, where the runtime would take some for its own.
func dropFaults() {
	var action struct {
		handler, flags, restorer uintptr
		mask                     uint64
	}
	for _, sig := range []syscall.Signal{
		syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL, syscall.SIGTRAP, syscall.SIGSYS, syscall.SIGSTKFLT, syscall.SIGABRT,
	} {
		_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&action)), 0, unsafe.Sizeof(action.mask), 0, 0)
	}
}

// hireThreads has the runtime make threads, which it keeps: when the container has
// no room for another one, a runtime that needs one would end the process.
func hireThreads(n int) {
	var all, done sync.WaitGroup
	all.Add(n)
	for range n {
		done.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			all.Done()
			all.Wait()
			time.Sleep(time.Millisecond)
		})
	}
	done.Wait()
}
