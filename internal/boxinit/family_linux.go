package main

import (
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"batch.example/batch/internal/boxinit/wire"
)

// family has what process 1 knows about its children. A child's process id is not
// reused before the child is reaped, which happens under the lock: code that holds
// the lock can trust the ids.
type family struct {
	null         int // every command's stdin, opened before a command can replace /dev/null
	tasksFile    int // of [openTasks]
	mu           sync.Mutex
	supers       map[int]*supervisor        // by id
	idle         []*supervisor              // that wait for an order
	interpreters map[int]*process           // by id, until they have ended
	starting     int                        // interpreters whose ids are not known yet
	unclaimed    map[int]syscall.WaitStatus // of children that were reaped and may be these

	stops  stops
	starts sync.RWMutex // read-locked while a process is started, locked while all are killed
}

func newFamily() *family {
	null, err := syscall.Open("/dev/null", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		os.Exit(1)
	}
	return &family{null: null, tasksFile: openTasks(), supers: map[int]*supervisor{}, interpreters: map[int]*process{}}
}

// process is one interpreter below its supervisor.
type process struct {
	family *family

	// Guarded by the family's lock:
	super      *supervisor         // nil when no process of the interpreter is below a supervisor
	orphan     bool                // the supervisor was killed: process 1 has inherited its descendants
	reused     bool                // the supervisor had others before
	begun      bool                // the interpreter may have run
	pid        int                 // the interpreter's; 0 when it is not known
	unreported bool                // the supervisor was killed before it reported the end
	reaped     *syscall.WaitStatus // the interpreter's wait status, if process 1 reaped it

	pidfd int // of the interpreter; -1 for none. It and pid are set before started is closed

	output  source             // its stdout, and without streams its stderr
	stderr  source             // with streams
	script  *os.File           // what it reads on scriptFd, or as its stdin, to write; nil for none
	unread  int                // the other end of a script's, to see whether it was read; -1 for none
	started chan struct{}      // closed when it is running or will not be
	ended   chan struct{}      // closed when it has ended or was never started
	status  syscall.WaitStatus // after ended
	failure syscall.Errno      // after ended: why it was never started; 0 otherwise
}

// pipes connect this process to an interpreter.
type pipes int

const (
	onePipe   pipes = iota // for stdout and stderr
	andScript              // and another for a script
	streams                // one for stdout, one for stdin and one for stderr
)

// start runs the ordered interpreter. It returns when the interpreter runs or
// could not be started. The caller must close the process in the end.
func (f *family) start(order wire.Order, with pipes) (*process, error) {
	if isTooLong(order) {
		return nil, syscall.E2BIG
	}
	f.starts.RLock()
	defer f.starts.RUnlock()
	p := &process{family: f, unread: -1, pidfd: -1, started: make(chan struct{}), ended: make(chan struct{})}
	files, err := p.open(with)
	var s *supervisor
	if err == nil {
		s, err = f.assign(p, order, files)
	}
	for _, fd := range files {
		if fd != p.unread {
			_ = syscall.Close(fd)
		}
	}
	if err != nil {
		p.close()
		return nil, err
	}
	late := time.NewTimer(startLimit)
	defer late.Stop()
	select {
	case <-p.started:
	case <-late.C: // for example, a command has stopped the supervisor
		s.kill(p)
		<-p.started
	}
	return p, nil
}

// open makes the pipes of p and returns the interpreter's ends, also after an error.
func (p *process) open(with pipes) (files []int, err error) {
	add := func(here, there int) (*os.File, int, error) {
		var fds [2]int
		if err := syscall.Pipe2(fds[:], syscall.O_CLOEXEC); err != nil {
			return nil, 0, err
		}
		files = append(files, fds[there])
		_ = syscall.SetNonblock(fds[here], true)
		return os.NewFile(uintptr(fds[here]), "pipe"), fds[here], nil
	}
	const reading, writing = 0, 1
	p.output.File, p.output.fd, err = add(reading, writing)
	if err == nil && with != onePipe {
		p.script, _, err = add(writing, reading)
	}
	switch {
	case err == nil && with == andScript:
		p.unread = files[1]
	case err == nil && with == streams:
		p.stderr.File, p.stderr.fd, err = add(reading, writing)
	}
	return files, err
}

// source is the reading end of a pipe.
type source struct {
	*os.File
	fd int
}

// startLimit is how long an interpreter may take to be started.
const startLimit = 10 * time.Second

// markRunning notes that the interpreter runs. The caller holds the lock.
func (p *process) markRunning(pid int) {
	f := p.family
	p.pid = pid
	if fd, err := unix.PidfdOpen(pid, 0); err == nil { // not in an old kernel
		p.pidfd = fd
	}
	f.interpreters[pid] = p
	if status, ok := f.unclaimed[pid]; ok {
		p.reaped = &status
	}
	p.markStarted()
}

// markStarted notes that the interpreter has been started or will not be. The caller holds
// the lock.
func (p *process) markStarted() {
	if f := p.family; isClosed(p.started) {
		return
	} else if f.starting--; f.starting == 0 {
		f.unclaimed = nil
	}
	close(p.started)
}

// end notes that the interpreter has ended. The caller holds the lock.
func (p *process) end(status syscall.WaitStatus) {
	if isClosed(p.ended) {
		return
	}
	if p.family.interpreters[p.pid] == p {
		delete(p.family.interpreters, p.pid)
	}
	p.status = status
	close(p.ended)
	p.markStarted()
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// reap reaps ended children whenever a SIGCHLD arrives. It does not return.
func (f *family) reap(ends <-chan os.Signal) {
	for range ends {
		f.mu.Lock()
		f.reapEnded()
		f.mu.Unlock()
	}
}

// reapEnded reaps all children that have ended. The caller holds the lock.
func (f *family) reapEnded() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if err == syscall.EINTR { //nolint:errorlint // that is what syscalls return
			continue
		}
		if pid <= 0 {
			return
		}
		if s := f.supers[pid]; s != nil {
			s.ended(status)
		} else if p := f.interpreters[pid]; p != nil {
			p.noteReaped(status)
		} else if f.starting > 0 {
			if f.unclaimed == nil {
				f.unclaimed = map[int]syscall.WaitStatus{}
			}
			f.unclaimed[pid] = status
		}
	}
}

// noteReaped records the end of an interpreter that became a child of this process. This
// may be seen before the end of its supervisor. The supervisor's last report takes
// precedence: it may have reaped the interpreter, whose id another process got.
func (p *process) noteReaped(status syscall.WaitStatus) {
	p.reaped = &status
	if p.unreported {
		p.end(status)
	}
}

// close closes the pipes of p.
func (p *process) close() {
	_ = p.output.Close()
	_ = p.stderr.Close()
	if p.pidfd >= 0 {
		_ = syscall.Close(p.pidfd)
	}
	p.closeScript()
}

func (p *process) closeScript() {
	if p.script != nil {
		_ = p.script.Close()
		_ = syscall.Close(p.unread)
		p.script, p.unread = nil, -1
	}
}

// waiting returns how many bytes are in a pipe.
func waiting(fd int) int {
	n, err := unix.IoctlGetInt(fd, unix.TIOCINQ)
	if err != nil {
		return 0
	}
	return n
}
