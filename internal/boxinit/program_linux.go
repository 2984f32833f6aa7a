package main

import (
	"errors"
	"math"
	"os"
	"sync"
	"syscall"
	"time"

	"batch.example/batch/internal/boxinit/wire"
)

// converse runs a program to its end when earlier ones with its name have ended. What it
// leaves is killed.
func (s *server) converse(c *command, earlier []*command) {
	var p *process
	var err error
	for _, old := range earlier {
		if <-old.done; old.result.Alive {
			err = syscall.EBUSY
		}
	}
	if err == nil {
		p, err = s.spawn(s.newOrder(c.run, c.run.Args), streams)
	}
	if err == nil {
		s.connect(c, p)
	} else {
		s.send(c.to, wire.Frame{Kind: wire.KindStderr, ID: c.id, Data: c.notRun(err)})
	}
	c.silence.Stop()
	close(c.done)
	s.sendResult(c)
}

// connect passes on what a program reads and writes until it has ended, or must end.
func (s *server) connect(c *command, p *process) {
	expire := func(at time.Time) {
		_ = p.output.SetReadDeadline(at)
		_ = p.stderr.SetReadDeadline(at)
	}
	var in, out sync.WaitGroup
	in.Go(func() { s.feed(c, p.script) })
	out.Go(func() { s.passOn(c, wire.KindOutput, p.output) })
	out.Go(func() { s.passOn(c, wire.KindStderr, p.stderr) })
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		<-c.kill
		c.result.Alive = !p.kill()
		expire(time.Unix(1, 0)) // at once
		_ = p.script.Close()
	}()
	select {
	case <-p.ended:
		expire(time.Now().Add(grace))
	case <-killed:
	}
	out.Wait()
	c.cancel()
	<-killed
	if !c.result.Alive {
		<-p.ended
	}
	in.Wait()
	c.result.Code = p.code()
	p.close()
}

// feed writes to a program's stdin. What the program does not read any more is dropped.
func (s *server) feed(c *command, stdin *os.File) {
	for {
		select {
		case b := <-c.input:
			if len(b) == 0 {
				_ = stdin.Close()
				return
			}
			_, _ = stdin.Write(b)
			s.send(c.to, wire.Frame{Kind: wire.KindTaken, ID: c.id})
		case <-c.kill:
			return
		}
	}
}

// passOn sends what a program writes, until it must end or every process has closed the pipe.
// At the pipe's deadline, it sends only what is in the pipe.
func (s *server) passOn(c *command, kind wire.Kind, from source) {
	buf := make([]byte, wire.Part)
	for left := math.MaxInt; left > 0; {
		select {
		case <-c.more:
		case <-c.kill:
			return
		}
		n, err := from.Read(buf[:min(len(buf), left)])
		if left -= n; n > 0 {
			s.send(c.to, wire.Frame{Kind: kind, ID: c.id, Data: buf[:n]})
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			_ = from.SetReadDeadline(time.Time{})
			left = waiting(from.fd)
		case err != nil:
			return
		}
	}
}
