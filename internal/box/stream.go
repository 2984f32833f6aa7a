package box

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"sync"
	"syscall"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/boxinit/wire"
)

// Program describes a program for [Box.Stream].
type Program struct {
	// Name distinguishes the programs of a container. Stream first ends the processes of
	// an earlier program with the same name, even one that a killed process of batch
	// started.
	Name string

	Args   []string
	Dir    string    // empty: the container's
	Env    []string  // NAME=value, overrides the container's
	Stderr io.Writer // gets what it writes to stderr, from one goroutine; nil discards
}

// Stream is a program in a container, for a caller that talks to it over its stdin and
// stdout. Read reads its stdout and Write writes to its stdin; each of the two may be used
// by one goroutine at a time, and Close by any. Unread output stops the program once the
// buffers between it and the reader are full.
type Stream struct {
	*flow
	op     string
	stdout *io.PipeReader
	exit   int // valid after done; -1: not known
	close  func() error
}

// flow is what batch and a program, or a connection from the container, say to each other.
type flow struct {
	box     *Box
	id      string
	link    *link
	room    chan wire.Frame // one for each frame of input that may be sent
	arrived chan wire.Frame // what the other side wrote, and its result
	done    chan struct{}   // closed when nothing arrives any more
}

// newFlow returns a flow over l that the Box knows from now on. The caller holds the Box's lock.
func (b *Box) newFlow(l *link, id string) *flow {
	w := &flow{
		box: b, id: id, link: l, done: make(chan struct{}),
		room: make(chan wire.Frame, wire.Window), arrived: make(chan wire.Frame, wire.Window+1),
	}
	for range wire.Window {
		w.room <- wire.Frame{}
	}
	b.flows[id] = w
	return w
}

const (
	// politeness is how long a program may take to end after its stdin has ended.
	politeness = 2 * time.Second
	// endLimit is how long ending the processes of a program may take.
	endLimit = 20 * time.Second
	// silence is how long a program runs when batch was killed and does not connect again.
	silence = 2 * time.Minute
)

// Stream starts a program in the container, as the container's user, beside the commands
// that [Box.Run] runs. The caller must Close the Stream. The program ends with the
// container and with the connection to it, and then the stream ends: it is not connected
// again, since what was under way in between would be lost. What a program leaves when it
// ends is killed.
//
// A program that does not exist is a Stream that ends at once: see [Stream.Exit].
func (b *Box) Stream(ctx context.Context, p Program) (*Stream, error) {
	op := p.Name + " in container " + b.carrier.Name()
	if len(p.Args) == 0 || p.Name == "" {
		return nil, fault.Newf(fault.Usage, "starting %s: no program or no name given", op)
	}
	if _, err := b.carrier.Admit(); err != nil {
		return nil, err
	}
	l, err := b.connected(ctx)
	if err != nil {
		return nil, err
	}
	out, in := io.Pipe()
	b.mu.Lock()
	s := &Stream{flow: b.newFlow(l, rand.Text()), op: op, stdout: out, exit: -1}
	b.mu.Unlock()
	s.close = sync.OnceValue(s.shut)
	s.send(wire.KindRun, wire.Encode(wire.Run{Args: p.Args, Env: p.Env, Dir: cmp.Or(p.Dir, b.carrier.Dir()), Name: p.Name, Silence: uint64(silence)}))
	go s.copy(in, p.Stderr)
	return s, nil
}

// take keeps a frame for next or Write. There is room, since the helper waits for it.
func (w *flow) take(f wire.Frame) {
	to := w.arrived
	if f.Kind == wire.KindTaken {
		to = w.room
	}
	f.Data = bytes.Clone(f.Data)
	select {
	case to <- f:
	default: // a result that is sent again
	}
}

// next waits for a frame; false when the link has ended.
func (w *flow) next() (f wire.Frame, ok bool) {
	select {
	case f = <-w.arrived:
		return f, true
	case <-w.link.done:
	}
	select {
	case f = <-w.arrived:
		return f, true
	default:
		return f, false
	}
}

// copy passes on the output until it ends, then notes how the program ended, before a reader
// of the output can ask for that.
func (s *Stream) copy(stdout *io.PipeWriter, stderr io.Writer) {
	defer stdout.Close() // always nil
	defer close(s.done)
	for {
		f, ok := s.next()
		var m wire.Result
		switch {
		case !ok:
			return
		case f.Kind == wire.KindResult && wire.Decode(f.Data, &m) == nil:
			s.exit = int(m.Code)
			return
		case f.Kind == wire.KindOutput:
			_, _ = stdout.Write(f.Data) // never fails: its reading end is not closed
		case stderr != nil:
			_, _ = stderr.Write(f.Data)
		}
		s.taken()
	}
}

// leave makes the Box forget the flow.
func (w *flow) leave() {
	w.box.mu.Lock()
	defer w.box.mu.Unlock()
	if w.box.flows[w.id] == w { // a helper that was started again counts its connections from the beginning
		delete(w.box.flows, w.id)
	}
}

// taken tells the other side that a frame has been passed on.
func (w *flow) taken() { w.send(wire.KindMore, wire.Encode(wire.More{})) }

func (w *flow) send(kind wire.Kind, data []byte) {
	w.link.write(wire.Frame{Kind: kind, ID: w.id, Data: data})
}

// Read reads the program's stdout; io.EOF means that it has ended.
func (s *Stream) Read(p []byte) (int, error) { return s.stdout.Read(p) }

// Write writes to the program's stdin. It waits for a program that does not read, and fails
// when the program has ended.
func (w *flow) Write(p []byte) (n int, err error) {
	for n < len(p) {
		select {
		case <-w.room:
		case <-w.done:
		case <-w.link.done:
		}
		if isClosed(w.done) || isClosed(w.link.done) {
			return n, syscall.EPIPE
		}
		part := p[n:min(n+wire.Part, len(p))]
		w.send(wire.KindInput, part)
		n += len(part)
	}
	return n, nil
}

// Exit returns the program's exit code once its stdout has ended; false before, or if the
// code is not known. 126 and 127 mean that it could not be started.
func (s *Stream) Exit() (code int, ended bool) {
	if !isClosed(s.done) {
		return 0, false
	}
	return s.exit, s.exit >= 0
}

// Close ends the program: its stdin ends, and what still runs after a short time is
// killed, with every process that it started. Close waits for the end and may be called
// twice; an error means that processes may be left.
func (s *Stream) Close() error { return s.close() }

func (s *Stream) shut() error {
	var discard sync.WaitGroup
	discard.Go(func() { _, _ = io.Copy(io.Discard, s.stdout) }) // a program that is stopped by unread output could not end
	s.send(wire.KindInput, nil)
	select {
	case <-s.done:
	case <-time.After(politeness):
	}
	err := s.end()
	discard.Wait()
	return err
}

// end kills the processes of the program. Without the container, there are none.
func (s *Stream) end() error {
	ctx, stop := context.WithTimeout(context.Background(), endLimit)
	defer stop()
	q := &question{frame: wire.Frame{Kind: wire.KindKill, ID: s.id}}
	_, err := s.box.ask(ctx, q)
	if err != nil {
		_ = s.link.pipe.Close() // no result arrives any more
	}
	s.leave()
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	s.box.forget = append(s.box.forget, s.id)
	switch {
	case errors.Is(err, errClosed):
		return nil
	case err == nil && q.result != nil && q.result.Alive:
		return fault.New(fault.Transient, "ending "+s.op, errors.New("some of its processes cannot be killed"))
	}
	return err
}
