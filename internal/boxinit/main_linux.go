package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"batch.example/batch/internal/boxinit/wire"
	"batch.example/batch/internal/gitpack"
)

// Arguments that make this program a tool of package boxgit's script.
const (
	keepWord   = "keep-objects" // FROM TO [CHOICE]: the list on stdin; the choice is written into a file
	chosenWord = "keep-chosen"  // FROM TO: the choice on stdin, after a head that ends with an empty line
)

// keepObjects runs [gitpack.Keep] or [gitpack.KeepChosen] on two folders of packs.
func keepObjects(word string, args []string) error {
	switch {
	case word == keepWord && len(args) == 2:
		return gitpack.Keep(args[0], args[1], os.Stdin, os.Stdout, nil)
	case word == keepWord && len(args) == 3:
		choice, err := os.Create(args[2])
		if err != nil {
			return err
		}
		return errors.Join(gitpack.Keep(args[0], args[1], os.Stdin, os.Stdout, choice), choice.Close())
	case word == chosenWord && len(args) == 2:
		choice := bufio.NewReader(os.Stdin)
		for line := ""; line != "\n"; {
			var err error
			if line, err = choice.ReadString('\n'); err != nil {
				return err
			}
		}
		return gitpack.KeepChosen(args[0], args[1], choice, os.Stdout)
	}
	return errors.New(word + ": wrong arguments")
}

// keyLimit is how long the key may take to come.
const keyLimit = 2 * time.Minute

func main() {
	if len(os.Args) > 1 && useAs(os.Args[1], os.Args[2:]) {
		return
	}
	// A process that reads this one's memory or descriptors could forge its messages.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	// Process 1 reaps orphans anyway; this is for tests, where it is another process.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	debug.SetGCPercent(20)
	// While one thread forks, another watches; and in a fork bomb some that may run Go code wait
	// for the processor, when another one has to act at a time limit.
	runtime.GOMAXPROCS(max(4, runtime.GOMAXPROCS(0)))
	startThreads(10)
	takeShortSlices()
	dir, _ := os.Getwd() // the image's
	_ = os.Chdir("/")    // it is the commands' directory
	born := ignoreSignals()
	setActions(ignore, faults...)
	setActions(ignore, unhandled...)
	keepLimits()
	limit := os.Getenv(wire.MemoryVariable)
	if key, listens := takeKey(); listens {
		s := newServer(key, dir)
		go s.family.reap(born)
		go guardMemory(limit)
		s.listen()
	}
	late := time.AfterFunc(keyLimit, func() { os.Exit(wire.ExitLease) })
	var key wire.Key
	if _, err := io.ReadFull(os.Stdin, key[:]); err != nil {
		os.Exit(wire.ExitLease)
	}
	late.Stop()
	s := newServer(key, dir)
	go s.family.reap(born)
	s.serve(os.Stdin, os.Stdout, func() {})
	s.wait()
}

// useAs uses this program for something else than process 1, if a word asks for that.
func useAs(word string, args []string) bool {
	switch word {
	case superviseWord:
		supervise(args)
	case keepWord, chosenWord:
		if err := keepObjects(word, args); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
	case wire.RelayWord:
		relay()
	case wire.HoldWord:
		hold()
	case wire.ProbeWord:
		probe(strings.Join(args, " "))
	case wire.UnplugWord:
		if err := unplug(); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(wire.ExitUnplug)
		}
	default:
		return false
	}
	return true
}

// keepLimits prevents other processes from setting this process's limits: they would need
// the same user and group ids, and this changes the saved group id. The next exec resets
// it, so commands do not see a difference.
func keepLimits() { _ = syscall.Setresgid(-1, -1, 65534) }

// ignoreSignals prevents signals from ending the process. It catches and drops them,
// since commands would inherit ignored signals. It returns the channel that
// receives SIGCHLD.
func ignoreSignals() <-chan os.Signal {
	others := make(chan os.Signal, 1) // when it is full, what comes is dropped
	signal.Notify(others)
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGCHLD)
	return ends
}

// Values of sa_handler.
const (
	defaultAction = 0 // SIG_DFL
	ignore        = 1 // SIG_IGN
)

var (
	// faults are signals that the runtime would catch and may take for faults of its own.
	faults = []syscall.Signal{
		syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL, syscall.SIGTRAP, syscall.SIGSYS, syscall.SIGSTKFLT, syscall.SIGABRT,
	}
	// unhandled are signals that the runtime installs no handler for.
	unhandled = []syscall.Signal{32, 34}
)

// setActions sets what the kernel does with the signals. Process 1 ignores what it does not
// catch. The default action is not enough there: the kernel discards a signal with that
// action unless the main thread has blocked it, as it has while a handler runs or a thread
// is started. Then, since Linux 4.15, a signal that dumps no core by default goes to
// another thread and ends the process.
func setActions(handler uintptr, signals ...syscall.Signal) {
	action := struct {
		handler, flags, restorer uintptr
		mask                     uint64
	}{handler: handler}
	for _, sig := range signals {
		_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&action)), 0, unsafe.Sizeof(action.mask), 0, 0)
	}
}

// startThreads makes the runtime create threads, which it keeps. Otherwise, when it needs
// a thread and the container has no room for one, it would end the process.
func startThreads(n int) {
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
