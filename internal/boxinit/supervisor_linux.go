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
	pid  int      // 0 when it has ended
	deaf bool     // it reports nothing any more
	has  *process // nil while it waits for an order
}

// maxIdle is how many supervisors are kept for the next commands.
const maxIdle = 2

// orderHead is what comes before an order: its size.
const orderHead = 4

// orderLimit is how long a supervisor may take to read an order.
const orderLimit = 10 * time.Second

// self is this program, also when its file is not there any more.
const self = "/proc/self/exe"

// hire has a supervisor start p as ordered, with these files: one that waits, or a new one.
func (f *family) hire(p *process, o wire.Order, files []int) (*supervisor, error) {
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

// pick returns a supervisor that has p from now on.
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
	s.has, p.super = p, s
	f.starting++
	return s, nil
}

// newSupervisor starts one that has the files for its first order. The caller holds
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
	go s.hear()
	return s, nil
}

// forkLimit is how long the start of a supervisor may take.
const forkLimit = 100 * time.Millisecond

// watchFork keeps a command that stops whatever there is from stopping this process,
// too: a fork returns only when the child has become another program. The caller calls
// the function that it returns when it has.
func watchFork() (done func()) {
	forked := make(chan struct{})
	go func() {
		for wait := forkLimit; ; wait = time.Millisecond {
			select {
			case <-forked:
				return
			case <-time.After(wait):
			}
			for pid, k := range lookAround() {
				if k.parent == os.Getpid() {
					_ = syscall.Kill(pid, syscall.SIGCONT)
				}
			}
		}
	}()
	return func() { close(forked) }
}

// collector is held by who needs the garbage collector to run, or not to.
var collector sync.Mutex

// holdCollector keeps the collector from beginning while this process forks. It waits
// for all threads, that which forks included, and [watchFork] would wait for it. The
// caller calls the function that it returns when it has forked.
func holdCollector() (done func()) {
	collector.Lock()
	percent := debug.SetGCPercent(-1) // waits for one that has begun
	return func() {
		debug.SetGCPercent(percent)
		collector.Unlock()
	}
}

// send sends the order, with the files unless the supervisor was started with them. It
// fails also where other containers have so many files under way that the kernel
// takes no more; a new supervisor needs none sent.
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

// hear takes what the supervisor reports, until it has ended or is not needed any
// more: then it ends, since nobody can give it orders.
func (s *supervisor) hear() {
	for s.hearOne() {
	}
	_ = s.conn.Close()
}

func (s *supervisor) hearOne() bool {
	var b [reportSize]byte
	_, err := io.ReadFull(s.conn, b[:])
	s.family.mu.Lock()
	defer s.family.mu.Unlock()
	if err != nil || s.has == nil { // nothing was ordered: somebody else speaks for it
		s.end()
		s.lost()
		return false
	}
	if b[0] == reportIdle {
		return s.rest()
	}
	s.take(b[0], binary.BigEndian.Uint32(b[1:]))
	return true
}

// rest says that nothing is left of what the supervisor had. It returns whether it is
// kept for another order. The caller holds the lock.
func (s *supervisor) rest() bool {
	s.has.super = nil
	s.has = nil
	f := s.family
	if len(f.idle) == maxIdle || s.pid == 0 {
		return false
	}
	f.idle = append(f.idle, s)
	return true
}

// take takes one report. The caller holds the lock.
func (s *supervisor) take(what byte, number uint32) {
	p := s.has
	switch what {
	case reportStarting:
		p.begun = true
	case reportStarted:
		p.running(int(number))
	case reportFailed:
		p.failure = syscall.Errno(number)
		p.end(syscall.WaitStatus(syscall.SIGKILL))
	case reportEnded:
		p.end(syscall.WaitStatus(number))
	}
}

// lost says that the supervisor will not report any more. The caller holds the lock.
func (s *supervisor) lost() {
	s.dismiss()
	s.deaf = true
	if s.has != nil {
		s.has.unreported = true
		if s.has.reaped != nil {
			s.has.end(*s.has.reaped)
		}
		s.settle()
	}
}

// settle says what has become of an interpreter whose id was not reported, when the
// supervisor has ended and nothing more can be heard of it. One that may have run is
// not run again. The caller holds the lock.
func (s *supervisor) settle() {
	p := s.has
	if s.pid != 0 || !s.deaf || p.pid != 0 || isClosed(p.ended) {
		return
	}
	if !p.begun {
		p.failure = syscall.EAGAIN
	}
	p.end(syscall.WaitStatus(syscall.SIGKILL))
}

// ended says that the supervisor was reaped. The caller holds the lock.
func (s *supervisor) ended(status syscall.WaitStatus) {
	s.dismiss()
	delete(s.family.supers, s.pid)
	s.pid = 0
	if raw, err := s.conn.SyscallConn(); err == nil {
		// A child of its that was stopped before it became another program has the other end.
		_ = raw.Control(func(fd uintptr) { _ = syscall.Shutdown(int(fd), syscall.SHUT_RD) })
	}
	if s.has != nil {
		s.has.super, s.has.orphan = nil, status != 0
		s.settle()
	}
}

// dismiss has no more orders be given to it. The caller holds the lock.
func (s *supervisor) dismiss() {
	s.family.idle = slices.DeleteFunc(s.family.idle, func(o *supervisor) bool { return o == s })
}

// kill ends the supervisor if it still has p.
func (s *supervisor) kill(p *process) {
	s.family.mu.Lock()
	defer s.family.mu.Unlock()
	if s.has == p {
		s.end()
	}
}

// end ends the supervisor. The caller holds the lock.
func (s *supervisor) end() {
	if s.pid != 0 {
		_ = syscall.Kill(s.pid, syscall.SIGKILL)
	}
}

// What an exec takes at most.
const (
	maxArgument  = 128<<10 - 1 // one argument or variable, less its end
	maxArguments = 6 << 20     // all of them
)

// isTooLong reports whether no exec would take what is ordered.
func isTooLong(o wire.Order) bool {
	long := func(v string) bool { return len(v) > maxArgument }
	return slices.ContainsFunc(o.Args, long) || slices.ContainsFunc(o.Env, long) || size(o) > maxArguments
}

// size is how many bytes there are in the arguments and the environment.
func size(o wire.Order) (n int) {
	for _, v := range slices.Concat(o.Args, o.Env) {
		n += len(v)
	}
	return n
}
