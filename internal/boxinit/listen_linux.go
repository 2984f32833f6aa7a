package main

import (
	"encoding/hex"
	"io"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"batch.example/batch/internal/boxinit/wire"
)

// socketName is the abstract socket of a helper that listens: no file of the container leads to
// it. Each pod has a network namespace of its own, and so has its own socket of that name.
const socketName = "@batch-init"

// service is the address of the cluster's API inside the cluster, in the form of [wire.ProbeWord];
// empty: unknown. Commands do not learn it.
var service string

// serviceAddress returns the address that the cluster gives to each container.
func serviceAddress() string {
	ip, err := netip.ParseAddr(os.Getenv("KUBERNETES_SERVICE_HOST"))
	port := os.Getenv("KUBERNETES_SERVICE_PORT")
	if err != nil || port == "" {
		return ""
	}
	return hex.EncodeToString(ip.AsSlice()) + ":" + port
}

// probed returns the script of a command: a probe also tries the address that only this process knows.
func probed(run wire.Run) string {
	if len(run.Args) == 2 && run.Args[1] == wire.ProbeWord {
		return run.Script + " " + service
	}
	return run.Script
}

// takeKey returns the key of a helper that listens, and removes everything from its environment
// that is for it, or that the cluster added for all pods.
func takeKey() (key wire.Key, listens bool) {
	text := os.Getenv(wire.KeyVariable)
	n, err := hex.Decode(key[:], []byte(text))
	if listens = err == nil && n == wire.KeySize; !listens {
		return key, false
	}
	service = serviceAddress()
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if name == wire.KeyVariable || name == wire.MemoryVariable || isService(name) {
			_ = os.Unsetenv(name)
		}
	}
	return key, true
}

// isService reports whether a cluster gives a variable of that name to each container, with the
// address of its API.
func isService(name string) bool {
	rest, ok := strings.CutPrefix(name, "KUBERNETES_")
	return ok && (strings.HasPrefix(rest, "SERVICE_") || strings.HasPrefix(rest, "PORT"))
}

// maxCallers is how many connections may be open at the same time. A connection beside the current
// one is of a batch that has just connected, or of a relay that outlived its batch.
const maxCallers = 4

// callers are the open connections, the oldest first.
type callers struct {
	sync.Mutex
	open []*os.File
}

// add adds a connection and ends the oldest one if there are too many.
func (c *callers) add(f *os.File) {
	c.Lock()
	defer c.Unlock()
	if c.open = append(c.open, f); len(c.open) > maxCallers {
		hangUp(c.open[0])
	}
}

// keepOnly ends all connections but one.
func (c *callers) keepOnly(f *os.File) {
	c.Lock()
	defer c.Unlock()
	for _, other := range c.open {
		if other != f {
			hangUp(other)
		}
	}
}

func (c *callers) remove(f *os.File) {
	c.Lock()
	defer c.Unlock()
	c.open = slices.DeleteFunc(c.open, func(other *os.File) bool { return other == f })
	_ = f.Close()
}

// hangUp ends the reads and writes of a connection. Its reader closes it.
func hangUp(f *os.File) { _ = unix.Shutdown(int(f.Fd()), unix.SHUT_RDWR) }

// listen serves each connection from outside this process's pid namespace. It does not return.
func (s *server) listen() {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrUnix{Name: socketName})
	}
	if err == nil {
		err = unix.Listen(fd, maxCallers)
	}
	if err != nil {
		_, _ = os.Stderr.WriteString("listening for batch: " + err.Error() + "\n")
		os.Exit(wire.ExitLease)
	}
	var all callers
	for {
		fd, _, err := unix.Accept4(fd, unix.SOCK_CLOEXEC)
		if err != nil {
			continue
		}
		if !fromOutside(fd) {
			_ = unix.Close(fd)
			continue
		}
		f := os.NewFile(uintptr(fd), "connection")
		all.add(f)
		go func() {
			defer all.remove(f)
			s.serve(f, f, func() { all.keepOnly(f) })
		}()
	}
}

// fromOutside reports whether the process at the other end of a connection has no id in this pid
// namespace. All commands have one.
func fromOutside(fd int) bool {
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	return err == nil && peer.Pid == 0
}

// relay connects stdin and stdout to the helper that listens in this network namespace.
func relay() {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = connect(fd)
	}
	if err != nil {
		_, _ = os.Stderr.WriteString("connecting to process 1: " + err.Error() + "\n")
		os.Exit(1)
	}
	f := os.NewFile(uintptr(fd), "connection")
	go func() {
		_, _ = io.Copy(bare{f}, bare{os.Stdin})
		os.Exit(0)
	}()
	_, _ = io.Copy(bare{os.Stdout}, bare{f})
}

// bare hides what else a file can do, for a copy by reads and writes.
type bare struct{ io.ReadWriter }
