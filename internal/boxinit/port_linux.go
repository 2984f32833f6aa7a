package main

import (
	"errors"
	"math"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"batch.example/batch/internal/boxinit/wire"
)

// maxVisitors is how many connections to the port are open at once. The kernel lets others wait.
const maxVisitors = 64

// visitorName is the name of connections among programs. No program has it.
const visitorName = "\x00visitor"

// port is a port of the container's loopback. Its connections are passed on to batch. It stays open
// without a connection to batch, and for the next one.
type port struct {
	mu     sync.Mutex
	number int // 0: closed
}

// open opens the port, unless it is open, and sends its number.
func (p *port) open(s *server, to uint64, id string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.number == 0 {
		f, number, err := listenLocally()
		if err != nil {
			return err
		}
		p.number = number
		go s.admit(f)
	}
	s.stream(to, id, strconv.AppendInt(nil, int64(p.number), 10))
	return nil
}

// listenLocally listens at a free port of 127.0.0.1.
func listenLocally() (*os.File, int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	if err == nil {
		err = unix.Listen(fd, unix.SOMAXCONN)
	}
	var name unix.Sockaddr
	if err == nil {
		name, err = unix.Getsockname(fd)
	}
	inet, ok := name.(*unix.SockaddrInet4)
	if err != nil || !ok {
		return nil, 0, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), "port"), inet.Port, nil
}

// admit passes on every connection to the port. It does not return.
func (s *server) admit(f *os.File) {
	places := make(chan struct{}, maxVisitors)
	for n := 1; ; n++ {
		places <- struct{}{}
		fd, err := accept(f)
		if err != nil { // the connection is gone, or there is no file for it yet
			time.Sleep(10 * time.Millisecond)
			<-places
			continue
		}
		go func() {
			defer func() { <-places }()
			s.visit("visitor "+strconv.Itoa(n), os.NewFile(uintptr(fd), "visitor"), fd)
		}()
	}
}

// accept waits for the next connection, without a thread of its own.
func accept(f *os.File) (fd int, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	failed := raw.Read(func(listening uintptr) bool {
		fd, _, err = unix.Accept4(int(listening), unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
		return err != unix.EAGAIN //nolint:errorlint // that is what syscalls return
	})
	return fd, errors.Join(failed, err)
}

// visit passes on a connection until one side closes it, or another connection to batch begins: what
// was under way then is lost.
func (s *server) visit(id string, f *os.File, fd int) {
	c := newCommand(id, wire.Run{Name: visitorName, Silence: math.MaxInt64})
	defer c.silence.Stop()
	s.mu.Lock()
	c.to = s.connection
	s.commands[id] = c
	s.mu.Unlock()
	s.send(c.to, wire.Frame{Kind: wire.KindOpen, ID: id})

	var others sync.WaitGroup
	others.Go(func() { s.feed(c, f) })
	others.Go(func() {
		<-c.kill
		_ = f.Close()
	})
	s.passOn(c, wire.KindOutput, source{f, fd})
	c.cancel()
	others.Wait()
	close(c.done)
	s.sendResult(c)
	s.mu.Lock()
	s.forget(id)
	s.mu.Unlock()
}
