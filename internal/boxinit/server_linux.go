package main

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"batch.example/batch/internal/boxinit/wire"
)

// maxResults is how many results are kept until batch says that they may be dropped.
const maxResults = 16

// largeOutput is the size of an output or script, in bytes, above which its memory is freed early.
const largeOutput = 256 << 10

// freeAfter is how long after dropping a large output its memory is freed.
const freeAfter = 50 * time.Millisecond

// server handles the requests of batch.
type server struct {
	key    wire.Key
	family *family
	ahead  *ahead
	port   port
	own    []string // environment
	dir    string   // of commands that name none: the image's

	mu         sync.Mutex
	out        *wire.Writer
	connection uint64
	lease      time.Duration
	again      bool // the container was started again
	expiry     *time.Timer
	commands   map[string]*command
	order      []string // of their ids
}

func newServer(key wire.Key, dir string) *server {
	s := &server{
		key: key, family: newFamily(), own: os.Environ(), dir: dir,
		commands: map[string]*command{},
	}
	s.ahead = &ahead{family: s.family, order: s.newOrder, waiting: map[string]waiter{}}
	s.expiry = time.AfterFunc(keyLimit, func() { os.Exit(wire.ExitLease) })
	return s
}

// wait blocks after stdin has ended, until the lease or the engine ends the process.
func (s *server) wait() { select {} }

// serve takes frames until the stream ends. It calls greeted when a connection begins.
func (s *server) serve(r io.Reader, w io.Writer, greeted func()) {
	in := wire.NewReader(r, s.key, wire.Runner)
	out := wire.NewWriter(w, s.key, wire.Init)
	for {
		f, began, err := in.Next()
		switch {
		case errors.Is(err, wire.ErrForged):
			go s.send(s.current(), wire.Frame{Kind: wire.KindLost})
			continue
		case err != nil:
			return
		case began:
			if f.Kind == wire.KindHello && s.greet(f.Data, in, out) {
				greeted()
			}
			continue
		}
		s.renew()
		s.take(f)
	}
}

// greet answers a Hello and begins its connection, if that is a new one.
func (s *server) greet(data []byte, in *wire.Reader, out *wire.Writer) (begun bool) {
	var m wire.Hello
	if wire.Decode(data, &m) != nil {
		return false
	}
	s.mu.Lock()
	if m.Connection <= s.connection {
		s.mu.Unlock()
		return false
	}
	s.connection, s.out, s.lease = m.Connection, out, time.Duration(m.Lease)
	s.again = s.again || m.Again
	for _, c := range s.commands {
		if c.input != nil { // what was under way between batch and a program is lost
			c.cancel()
		}
	}
	answer := wire.Welcome{Version: wire.Version, Connection: m.Connection, Again: s.again}
	s.mu.Unlock()
	s.renew()
	in.Begin(m.Connection)
	go func() { _ = out.Begin(m.Connection, wire.Frame{Kind: wire.KindWelcome, Data: wire.Encode(answer)}) }()
	return true
}

// renew restarts the lease, and the silence of programs.
func (s *server) renew() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expiry.Stop()
	if s.lease > 0 {
		s.expiry.Reset(s.lease)
	}
	for _, c := range s.commands {
		if c.input != nil {
			c.silence.Reset(time.Duration(c.run.Silence))
		}
	}
}

// take does what a frame asks for. Its data must not be used later.
func (s *server) take(f wire.Frame) {
	switch f.Kind {
	case wire.KindRun:
		var run wire.Run
		if wire.Decode(f.Data, &run) == nil && len(run.Args) > 0 {
			run.Dir = cmp.Or(run.Dir, s.dir)
			run.Script = probed(run)
			s.runOnce(f.ID, run)
		}
	case wire.KindReady:
		var run wire.Run
		if wire.Decode(f.Data, &run) == nil && len(run.Args) > 0 {
			run.Dir = cmp.Or(run.Dir, s.dir)
			go s.ready(f.ID, run)
		}
	case wire.KindMore:
		var m wire.More
		if c := s.command(f.ID); c != nil && wire.Decode(f.Data, &m) == nil {
			select {
			case c.more <- int(m.Limit):
			default: // it was answered before
			}
		}
	case wire.KindKill:
		c := s.command(f.ID)
		if c == nil {
			go s.finish(s.current(), f.ID, nil)
			break
		}
		c.cancel()
		go s.resend(c)
	case wire.KindInput:
		if c := s.command(f.ID); c != nil {
			select {
			case c.input <- bytes.Clone(f.Data):
			default: // it is not a program, or batch did not wait for room
			}
		}
	case wire.KindClear:
		go func() {
			var err error
			if !s.family.clear() {
				err = syscall.EBUSY
			}
			s.finish(s.current(), f.ID, err)
		}()
	case wire.KindListen:
		to := s.current()
		go func() { s.finish(to, f.ID, s.port.open(s, to, f.ID)) }()
	case wire.KindRenew:
		go s.send(s.current(), wire.Frame{Kind: wire.KindAlive})
	case wire.KindPut:
		var m wire.Put
		if wire.Decode(bytes.Clone(f.Data), &m) == nil {
			to := s.current()
			go func() { s.finish(to, f.ID, put(f.ID, m)) }()
		}
	case wire.KindGet:
		var m wire.Get
		if wire.Decode(f.Data, &m) == nil {
			to := s.current()
			go func() { s.finish(to, f.ID, s.get(to, f.ID, m)) }()
		}
	}
}

func (s *server) command(id string) *command {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commands[id]
}

// runOnce runs a command with a new id. For a known id it sends the question or result
// again.
func (s *server) runOnce(id string, run wire.Run) {
	s.mu.Lock()
	for _, old := range run.Forget {
		s.forget(old)
	}
	c, known := s.commands[id]
	var earlier []*command
	if !known {
		c = newCommand(id, run)
		for _, old := range s.commands {
			if run.Name != "" && old.run.Name == run.Name {
				old.cancel()
				earlier = append(earlier, old)
			}
		}
		c.to = s.connection
		s.commands[id] = c
		s.order = append(s.order, id)
	}
	for _, old := range s.order[:max(0, len(s.order)-maxResults)] {
		s.forget(old)
	}
	s.mu.Unlock()
	switch {
	case known:
		go s.resend(c)
	case c.input != nil:
		go s.converse(c, earlier)
	default:
		go s.execute(c)
	}
}

// forget drops a command's result, if the command has ended. The caller holds the lock.
func (s *server) forget(id string) {
	c := s.commands[id]
	if c == nil || !isClosed(c.done) {
		return
	}
	delete(s.commands, id)
	if len(c.kept.kept) > largeOutput {
		freeMemorySoon()
	}
	if i := slices.Index(s.order, id); i >= 0 {
		s.order = slices.Concat(s.order[:i], s.order[i+1:]) // a copy: a caller iterates over the old one
	}
}

// freeMemorySoon returns memory to the system that will be unreferenced in a moment. It
// counts towards the container's limit.
func freeMemorySoon() {
	time.AfterFunc(freeAfter, func() {
		collector.Lock()
		defer collector.Unlock()
		debug.FreeOSMemory()
	})
}

// sendResult sends the output and the result of a command that has ended.
func (s *server) sendResult(c *command) {
	c.mu.Lock()
	defer c.mu.Unlock()
	to := s.current()
	for _, part := range c.kept.parts() {
		s.stream(to, c.id, part)
	}
	s.send(to, wire.Frame{Kind: wire.KindResult, ID: c.id, Data: wire.Encode(c.result)})
}

// resend sends a command's result or its open question over the current connection.
func (s *server) resend(c *command) {
	if isClosed(c.done) {
		s.sendResult(c)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.full != nil {
		s.sendQuestion(c)
	}
}

// ask asks batch how much of the command's output to keep. The command waits
// until there is an answer.
func (s *server) ask(c *command, begin []byte) int {
	c.mu.Lock()
	c.full = begin
	s.sendQuestion(c)
	c.mu.Unlock()
	limit := 0
	select {
	case limit = <-c.more:
	case <-c.kill:
	}
	c.mu.Lock()
	c.full = nil
	c.mu.Unlock()
	return limit
}

// sendQuestion sends the question of ask. The caller holds the command's lock.
func (s *server) sendQuestion(c *command) {
	to := s.current()
	s.stream(to, c.id, c.full)
	s.send(to, wire.Frame{Kind: wire.KindFull, ID: c.id})
}

// ready starts an interpreter ahead, and reports whether commands can run in the directory.
func (s *server) ready(id string, run wire.Run) {
	err := dirError(run.Dir)
	if err == nil && run.Ahead {
		s.ahead.first(run)
	}
	s.finish(s.current(), id, err)
}

// current returns the number of the current connection.
func (s *server) current() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connection
}

func (s *server) stream(to uint64, id string, data []byte) {
	for len(data) > 0 {
		n := min(len(data), wire.Chunk)
		s.send(to, wire.Frame{Kind: wire.KindOutput, ID: id, Data: data[:n]})
		data = data[n:]
	}
}

func (s *server) send(to uint64, f wire.Frame) {
	s.mu.Lock()
	out := s.out
	s.mu.Unlock()
	if out != nil {
		_ = out.Write(to, f) // after a new connection, batch asks again
	}
}

func (s *server) finish(to uint64, id string, err error) {
	var m wire.Done
	if err != nil {
		m.Errno, m.Message = uint64(syscall.EIO), err.Error()
		var number syscall.Errno
		if errors.As(err, &number) {
			m.Errno = uint64(number)
		}
	}
	s.send(to, wire.Frame{Kind: wire.KindDone, ID: id, Data: wire.Encode(m)})
}

// newOrder returns what a supervisor starts for run.
func (s *server) newOrder(run wire.Run, args []string) wire.Order {
	return wire.Order{Args: args, Env: s.environ(run.Env), Dir: run.Dir}
}

// environ returns the environment of a command: the container's and its own variables.
// If a name occurs several times, the last value counts. A BASH_ENV that may not be read is
// left out.
func (s *server) environ(more []string) []string {
	all := slices.Concat(s.own, more)
	list := make([]string, 0, len(all))
	last := map[string]int{}
	for i, v := range all {
		name, _, _ := strings.Cut(v, "=")
		last[name] = i
	}
	for i, v := range all {
		name, value, _ := strings.Cut(v, "=")
		if last[name] != i || name == "BASH_ENV" && unreadable(value) {
			continue
		}
		list = append(list, v)
	}
	return list
}

// unreadable reports whether bash would print before each output that it may not read the
// file. The default of BASH_ENV is in the home of root, and the image may have another user.
func unreadable(file string) bool {
	const read = 4 // R_OK
	return syscall.Access(file, read) == syscall.EACCES
}
