package main

import (
	"cmp"
	"errors"
	"math"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"batch.example/batch/internal/boxinit/wire"
)

// The exit codes of commands that could not run or were killed, as in shells and engines.
const (
	codeNotRun   = 126
	codeNotFound = 127
	codeSignal   = 128 // and the signal's number
)

// command is one command. It is kept until batch says that it may be dropped.
type command struct {
	id   string
	run  wire.Run
	kept capped
	more chan int      // the answers of wire.KindMore
	kill chan struct{} // closed when batch wants it to end
	stop sync.Once
	done chan struct{} // closed when result is there

	// Of a program:
	input   chan []byte // for its stdin; an empty one is the end
	to      uint64      // the connection that it belongs to
	silence *time.Timer // that ends it

	mu     sync.Mutex
	full   []byte      // the output that batch is being asked about
	result wire.Result // after done
}

func newCommand(id string, run wire.Run) *command {
	c := &command{
		id: id, run: run, kept: capped{limit: int(run.Limit)},
		more: make(chan int, 1), kill: make(chan struct{}), done: make(chan struct{}),
	}
	if run.Name != "" {
		c.more, c.input = make(chan int, wire.Window), make(chan []byte, wire.Window+1)
		for range wire.Window {
			c.more <- 0
		}
		c.silence = time.AfterFunc(time.Duration(run.Silence), c.cancel)
	}
	return c
}

func (c *command) cancel() { c.stop.Do(func() { close(c.kill) }) }

// execute runs the command to its end. Afterwards it keeps reading the pipe
// until no remaining process has it open.
func (s *server) execute(c *command) {
	start, before := time.Now(), oomKills()
	s.ahead.begin()
	p := s.attempt(c, s.ahead.take(c.run))
	if p == nil && c.run.Load && len(c.run.Script) > maxArgument && !c.over() {
		loader, _ := s.family.start(loading(s.newOrder(c.run, c.run.Args)), andScript)
		p = s.attempt(c, loader)
	}
	if p == nil && !c.over() {
		s.prepare(c)
		if p = s.startWith(c, before); p != nil {
			c.follow(p)
		}
	}
	if p != nil && !c.result.TimedOut {
		c.result.Code = p.code()
	}
	c.result.OOM = c.result.Code == codeSignal+uint64(syscall.SIGKILL) && oomKills() > before
	c.result.Total, c.result.Kept = c.kept.total, uint64(len(c.kept.kept))
	c.result.Nanos = uint64(time.Since(start))
	if len(c.run.Script) > largeOutput {
		freeMemorySoon()
	}
	c.run.Script = ""
	s.ahead.mu.Lock()
	close(c.done)
	s.sendResult(c)
	s.ahead.running--
	if c.run.Ahead {
		s.ahead.start(c.run)
	}
	s.ahead.mu.Unlock()
	if p != nil {
		drain(p)
	}
}

// prepare makes the command ready for another attempt to start it.
func (s *server) prepare(c *command) {
	c.kept = capped{limit: int(c.run.Limit)}
	if c.run.Ask {
		c.kept.ask = func(begin []byte) int { return s.ask(c, begin) }
	}
}

// over reports whether the command was ended at its time limit or by batch.
func (c *command) over() bool {
	return isClosed(c.kill) || c.result.TimedOut
}

// attempt runs the command in the waiting interpreter p. It returns nil if p
// ended before it had read the whole script, and so has run nothing of it.
func (s *server) attempt(c *command, p *process) *process {
	if p == nil {
		return nil
	}
	s.prepare(c)
	b := loaded(c.run.Script)
	var write sync.WaitGroup
	write.Go(func() {
		n, _ := p.script.Write(b)
		b = b[n:]
	})
	c.follow(p)
	_ = p.script.SetWriteDeadline(time.Unix(1, 0))
	write.Wait()
	taken := len(b) == 0 && waiting(p.unread) == 0
	p.closeScript()
	if taken || c.over() {
		return p
	}
	go drain(p)
	return nil
}

// startWith starts an interpreter with the script as its last argument. When none
// can be started it returns nil, and the command has its result. kills is how many processes of the
// container had been killed for memory before.
func (s *server) startWith(c *command, kills uint64) *process {
	p, err := s.start(c, slices.Concat(c.run.Args, []string{c.run.Script}))
	if err == nil {
		return p
	}
	if noRoom(err) && oomKills() > kills {
		// What no process holds, such as files in /dev/shm, uses up the memory. Only a container
		// that starts again is free of it, and the runner starts one that ended like this.
		os.Exit(wire.ExitCrash)
	}
	c.result.Missing = dirError(c.run.Dir) == nil && !noRoom(err) && !errors.Is(err, syscall.E2BIG) && !errors.Is(err, syscall.EINVAL)
	c.kept.add(c.notRun(err))
	return nil
}

// notRun sets the exit code of a command that could not be started, and returns what to say.
func (c *command) notRun(err error) []byte {
	c.result.Code = codeNotRun
	if err := dirError(c.run.Dir); err != nil {
		return []byte("chdir " + c.run.Dir + ": " + err.Error() + "\n")
	}
	if errors.Is(err, syscall.ENOENT) {
		c.result.Code = codeNotFound
	}
	return []byte("exec " + c.run.Args[0] + ": " + err.Error() + "\n")
}

// tries is how often a command is started where there is no room for a process.
const tries = 3

// start starts args. If there is no room for another process, because processes that earlier
// commands left use up the container's limits, it ends all of them.
func (s *server) start(c *command, args []string) (p *process, err error) {
	if dirError(c.run.Dir) != nil {
		return nil, syscall.ENOENT
	}
	for n := range tries {
		p, err = s.spawn(s.newOrder(c.run, args), onePipe)
		if !noRoom(err) {
			return p, err
		}
		if n > 0 {
			s.family.clear()
			c.result.Cleared = true
		}
	}
	return nil, err
}

// spawn starts a process. That an idle supervisor was killed does not mean that there is no
// room for one, so then another one starts it.
func (s *server) spawn(o wire.Order, with pipes) (*process, error) {
	for {
		p, err := s.family.start(o, with)
		if err != nil || p.failure == 0 {
			return p, err
		}
		go drain(p)
		if !p.reused || p.failure != syscall.EAGAIN {
			return nil, p.failure
		}
	}
}

// noRoom reports whether err is the lack of something that ending processes frees.
func noRoom(err error) bool {
	for _, want := range []syscall.Errno{syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE} {
		if errors.Is(err, want) {
			return true
		}
	}
	return false
}

// dirError returns why commands cannot start in the directory; nil if they can.
func dirError(dir string) error {
	var st syscall.Stat_t
	if err := syscall.Stat(dir, &st); err != nil {
		return err
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		return syscall.ENOTDIR
	}
	return syscall.Access(dir, unix.X_OK)
}

// grace is how long the output is still read when the interpreter has ended and other
// processes have the pipe open: the writer of a process substitution, as in
// exec > >(tee log), ends a moment later. A daemon has it open for good.
const grace = time.Second

// follow reads the command's output until its interpreter has ended and the pipe is closed or
// grace is over, and kills the command's processes at its time limit.
func (c *command) follow(p *process) {
	var watch sync.WaitGroup
	watch.Go(func() { c.watch(p) })
	buf := make([]byte, 64<<10)
	for {
		n, err := p.output.Read(buf)
		c.kept.add(buf[:n])
		if err != nil {
			break // the deadline, or every process has closed the pipe
		}
	}
	watch.Wait()
	_ = p.output.SetReadDeadline(time.Time{})
	for left := waiting(p.output.fd); left > 0; {
		n, err := p.output.Read(buf[:min(left, len(buf))])
		c.kept.add(buf[:n])
		if left -= n; err != nil {
			break
		}
	}
}

// watch ends the reading of [command.follow].
func (c *command) watch(p *process) {
	expired, killed := make(chan struct{}), make(chan bool, 1)
	limit := time.AfterFunc(time.Duration(cmp.Or(c.run.Timeout, math.MaxInt64)), func() {
		close(expired)
		killed <- p.kill() // not in watch, which may wait for the processor for seconds
	})
	select {
	case <-p.ended:
	case <-expired:
	case <-c.kill:
	}
	deadline := time.Unix(1, 0) // at once
	switch {
	case !limit.Stop():
		c.result.TimedOut, c.result.Alive = true, !<-killed
	case isClosed(c.kill):
		c.result.Alive = !p.kill()
	default:
		deadline = time.Now().Add(grace)
	}
	if !c.result.Alive {
		<-p.ended
	}
	_ = p.output.SetReadDeadline(deadline)
}

// drain discards what the processes that a command left still write, until they close the pipe.
func drain(p *process) {
	defer p.close()
	buf := make([]byte, 4<<10)
	for {
		if _, err := p.output.Read(buf); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
	}
}

// code returns the exit code of an interpreter as a shell reports it. An interpreter that
// cannot be killed counts as killed.
func (p *process) code() uint64 {
	status := syscall.WaitStatus(syscall.SIGKILL)
	if isClosed(p.ended) {
		status = p.status
	}
	if status.Signaled() {
		return codeSignal + uint64(status.Signal())
	}
	return uint64(status.ExitStatus())
}
