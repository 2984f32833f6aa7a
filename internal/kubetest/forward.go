package kubetest

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Registry lets the node pull images from a registry without TLS that listens at address on this
// machine, loopback included. It returns HOST:PORT, with which such images' names begin.
func Registry(t testing.TB, address string) string {
	t.Helper()
	name := Forward(t, address)
	folder := filepath.Join(dir(t), "certs.d", name)
	hosts := "server = \"http://" + name + "\"\n[host.\"http://" + name + "\"]\ncapabilities = [\"pull\", \"resolve\"]\n"
	if err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, "hosts.toml"), []byte(hosts), 0o600)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) }) // scripts/kube down removes it too
	return name
}

// Forward returns the HOST:PORT at which the cluster's pods reach the server that listens at
// address on this machine, until the test ends.
func Forward(t testing.TB, address string) string {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(Host(t), "0"))
	if err != nil {
		t.Fatal(err)
	}
	f := &forwarder{to: address, open: map[net.Conn]bool{}}
	f.work.Go(func() { f.accept(listener) })
	t.Cleanup(func() {
		_ = listener.Close()
		f.close()
		f.work.Wait()
	})
	return listener.Addr().String()
}

// forwarder carries connections to another address.
type forwarder struct {
	to   string
	work sync.WaitGroup

	mu     sync.Mutex
	open   map[net.Conn]bool
	closed bool
}

func (f *forwarder) accept(listener net.Listener) {
	for {
		from, err := listener.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", f.to)
		if err != nil || !f.add(from, to) {
			_ = from.Close()
			continue
		}
		f.work.Go(func() { carry(to, from) })
		f.work.Go(func() {
			carry(from, to)
			f.remove(from, to)
		})
	}
}

// add reports whether the connections may be used: after close they are closed at once.
func (f *forwarder) add(pair ...net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range pair {
		if f.closed {
			_ = c.Close()
			continue
		}
		f.open[c] = true
	}
	return !f.closed
}

func (f *forwarder) remove(pair ...net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range pair {
		_ = c.Close()
		delete(f.open, c)
	}
}

func (f *forwarder) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for c := range f.open {
		_ = c.Close()
	}
}

// carry copies one direction, and passes on its end.
func carry(to, from net.Conn) {
	_, _ = io.Copy(to, from) // the other side learns of an error by the end
	if c, ok := to.(*net.TCPConn); ok {
		_ = c.CloseWrite()
	}
}
