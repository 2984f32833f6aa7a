package main

import (
	"encoding/binary"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"batch.example/batch/internal/boxinit/wire"
)

// supervisor is a process below which interpreters run, one after the other.
type supervisor struct {
	family *family
	conn   *os.File // orders and reports

	// Guarded by the family's lock:
	pid         int      // 0 when it has ended
	silent      bool     // it reports nothing any more
	interpreter *process // nil while it waits for an order
}

// maxIdle is how many supervisors are kept for the next commands.
const maxIdle = 2

// orderHead is the length of the head of an order, which has its size.
const orderHead = 4

// orderLimit is how long a supervisor may take to read an order.
const orderLimit = 10 * time.Second

// self is this program, even if its file has been removed.
const self = "/proc/self/exe"

// assign gives the order for p, with these files, to an idle or new supervisor.
func (f *family) assign(p *process, o wire.Order, files []int) (*supervisor, error) {
	s, err := f.pick(p, files)
	if err != nil {
		return nil, err
	}
	if !p.reused {
		files = nil
	}
	if s.send(o, files) != nil {
		s.kill(p)
	}
	return s, nil
}

// pick returns an idle or new supervisor and assigns p to it.
func (f *family) pick(p *process, files []int) (s *supervisor, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(f.idle); n > 0 {
		s, f.idle = f.idle[n-1], f.idle[:n-1]
		p.reused = true
		_ = syscall.Kill(s.pid, syscall.SIGCONT) // a command may have stopped it
	} else if s, err = f.newSupervisor(files); err != nil {
		return nil, err
	}
	s.interpreter, p.super = p, s
	f.starting++
	return s, nil
}

// newSupervisor starts a supervisor with the files for its first order. The caller holds
// the lock.
func (f *family) newSupervisor(files []int) (*supervisor, error) {
	defer watchFork()()
	defer holdCollector()()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	null := uintptr(f.null)
	given := []uintptr{null, null, null, uintptr(pair[1])}
	for _, fd := range files {
		given = append(given, uintptr(fd))
	}
	pid, err := syscall.ForkExec(self, []string{"batch", superviseWord, strconv.Itoa(len(files))}, &syscall.ProcAttr{
		Dir: "/", Files: given,
	})
	_ = syscall.Close(pair[1])
	if err != nil {
		_ = syscall.Close(pair[0])
		return nil, err
	}
	_ = syscall.SetNonblock(pair[0], true)
	s := &supervisor{family: f, conn: os.NewFile(uintptr(pair[0]), "supervisor"), pid: pid}
	f.supers[pid] = s
	go s.readReports()
	return s, nil
}

// forkLimit is how long the start of a supervisor may take.
const forkLimit = 100 * time.Millisecond

// watchFork protects this process from a command that stops every process: a fork returns
// only when the child has executed its program, so a stopped child would block it.
// watchFork continues such a child. The caller calls done after the fork.
func watchFork() (done func()) {
	forked := make(chan struct{})
	go func() {
		for wait := forkLimit; ; wait = time.Millisecond {
			select {
			case <-forked:
				return
			case <-time.After(wait):
			}
			for pid, k := range readProcs() {
				if k.parent == os.Getpid() {
					_ = syscall.Kill(pid, syscall.SIGCONT)
				}
			}
		}
	}()
	return func() { close(forked) }
}

// collector is held by code that needs the garbage collector to run, or not to run.
var collector sync.Mutex

// holdCollector prevents a garbage collection while this process forks. A collection waits
// for all threads, including the one that forks, and [watchFork] would wait for it. The
// caller calls done after the fork.
func holdCollector() (done func()) {
	collector.Lock()
	percent := debug.SetGCPercent(-1) // waits for one that has begun
	return func() {
		debug.SetGCPercent(percent)
		collector.Unlock()
	}
}

// send sends the order, with the files unless the supervisor was started with them. It
// also fails if other containers are sending so many files that the kernel
// accepts no more; a new supervisor does not need this.
func (s *supervisor) send(o wire.Order, files []int) error {
	data := wire.Encode(o)
	head := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	_ = s.conn.SetWriteDeadline(time.Now().Add(orderLimit))
	raw, err := s.conn.SyscallConn()
	if err != nil {
		return err
	}
	var rights []byte
	if len(files) > 0 {
		rights = syscall.UnixRights(files...)
	}
	var sent error
	if err := raw.Write(func(fd uintptr) bool {
		sent = syscall.Sendmsg(int(fd), head, rights, nil, syscall.MSG_NOSIGNAL)
		return sent != syscall.EAGAIN //nolint:errorlint // that is what syscalls return
	}); err != nil {
		return err
	}
	if sent != nil {
		return sent
	}
	_, err = s.conn.Write(data)
	return err
}

// readReports reads the supervisor's reports until it has ended or is not needed any
// more. Then it closes the connection, which ends the supervisor.
func (s *supervisor) readReports() {
	for s.readReport() {
	}
	_ = s.conn.Close()
}

func (s *supervisor) readReport() bool {
	var b [reportSize]byte
	_, err := io.ReadFull(s.conn, b[:])
	s.family.mu.Lock()
	defer s.family.mu.Unlock()
	if err != nil || s.interpreter == nil { // a report without an order is forged
		s.end()
		s.lost()
		return false
	}
	if b[0] == reportIdle {
		return s.becomeIdle()
	}
	s.take(b[0], binary.BigEndian.Uint32(b[1:]))
	return true
}

// becomeIdle notes that nothing is left below the supervisor. It returns whether the
// supervisor is kept for another order. The caller holds the lock.
func (s *supervisor) becomeIdle() bool {
	s.interpreter.super = nil
	s.interpreter = nil
	f := s.family
	if len(f.idle) == maxIdle || s.pid == 0 {
		return false
	}
	f.idle = append(f.idle, s)
	return true
}

// take handles one report. The caller holds the lock.
func (s *supervisor) take(what byte, number uint32) {
	p := s.interpreter
	switch what {
	case reportStarting:
		p.begun = true
	case reportStarted:
		p.markRunning(int(number))
	case reportFailed:
		p.failure = syscall.Errno(number)
		p.end(syscall.WaitStatus(syscall.SIGKILL))
	case reportEnded:
		p.end(syscall.WaitStatus(number))
	}
}

// lost notes that the supervisor will not report any more. The caller holds the lock.
func (s *supervisor) lost() {
	s.unlist()
	s.silent = true
	if s.interpreter != nil {
		s.interpreter.unreported = true
		if s.interpreter.reaped != nil {
			s.interpreter.end(*s.interpreter.reaped)
		}
		s.endUnreported()
	}
}

// endUnreported ends an interpreter whose id was not reported, when the
// supervisor has ended and will send no more reports. An interpreter that may have run is
// not run again. The caller holds the lock.
func (s *supervisor) endUnreported() {
	p := s.interpreter
	if s.pid != 0 || !s.silent || p.pid != 0 || isClosed(p.ended) {
		return
	}
	if !p.begun {
		p.failure = syscall.EAGAIN
	}
	p.end(syscall.WaitStatus(syscall.SIGKILL))
}

// ended notes that the supervisor was reaped. The caller holds the lock.
func (s *supervisor) ended(status syscall.WaitStatus) {
	s.unlist()
	delete(s.family.supers, s.pid)
	s.pid = 0
	if raw, err := s.conn.SyscallConn(); err == nil {
		// A child that was stopped before its exec may still have the other end open.
		_ = raw.Control(func(fd uintptr) { _ = syscall.Shutdown(int(fd), syscall.SHUT_RD) })
	}
	if s.interpreter != nil {
		s.interpreter.super, s.interpreter.orphan = nil, status != 0
		s.endUnreported()
	}
}

// unlist makes sure that the supervisor gets no more orders. The caller holds the lock.
func (s *supervisor) unlist() {
	s.family.idle = slices.DeleteFunc(s.family.idle, func(o *supervisor) bool { return o == s })
}

// kill ends the supervisor if p is still assigned to it.
func (s *supervisor) kill(p *process) {
	s.family.mu.Lock()
	defer s.family.mu.Unlock()
	if s.interpreter == p {
		s.end()
	}
}

// end ends the supervisor. The caller holds the lock.
func (s *supervisor) end() {
	if s.pid != 0 {
		_ = syscall.Kill(s.pid, syscall.SIGKILL)
	}
}

// The limits of an exec, in bytes.
const (
	maxArgument  = 128<<10 - 1 // one argument or variable, without its final NUL
	maxArguments = 6 << 20     // all of them
)

// isTooLong reports whether the order exceeds the limits of an exec.
func isTooLong(o wire.Order) bool {
	long := func(v string) bool { return len(v) > maxArgument }
	return slices.ContainsFunc(o.Args, long) || slices.ContainsFunc(o.Env, long) || size(o) > maxArguments
}

// size returns the number of bytes in the arguments and the environment.
func size(o wire.Order) (n int) {
	for _, v := range slices.Concat(o.Args, o.Env) {
		n += len(v)
	}
	return n
}
