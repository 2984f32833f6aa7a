package control

import (
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Limits of the connections of a [Server].
const (
	maxConns     = 256
	refusedEvery = time.Minute // between two messages about refused connections
)

// sender is the program at the other end of a connection.
type sender struct{ uid, pid int }

// door accepts the connections of this process's user and of root, and closes all others.
type door struct {
	net.Listener
	log  *slog.Logger
	open chan struct{} // has a token for each open connection

	last    time.Time // of the last message about refused connections
	refused int       // since then
}

// Accept implements net.Listener.
func (d *door) Accept() (net.Conn, error) {
	for {
		conn, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		p, err := senderAt(conn)
		if err != nil || !trusted(p.uid, os.Getuid()) {
			d.refuse(p, err)
			_ = conn.Close() // it is not used
			continue
		}
		select {
		case d.open <- struct{}{}:
			return &visit{Conn: conn, sender: p, leave: sync.OnceFunc(func() { <-d.open })}, nil
		default:
			_ = conn.Close() // too many at the same time
		}
	}
}

// refuse logs that connections were refused, at most once a minute.
func (d *door) refuse(p sender, err error) {
	d.refused++
	if time.Since(d.last) < refusedEvery {
		return
	}
	d.log.Warn("refused a connection of another user to "+SocketName, "uid", p.uid, "sender_pid", p.pid, "refused", d.refused, "err", err)
	d.last, d.refused = time.Now(), 0
}

// senderAt returns the program at the other end of a connection.
func senderAt(conn net.Conn) (p sender, err error) {
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return p, err
	}
	failed := raw.Control(func(fd uintptr) { p.uid, p.pid, err = peerOf(int(fd)) })
	if failed != nil {
		return p, failed
	}
	return p, err
}

// visit is an open connection.
type visit struct {
	net.Conn
	sender
	leave func()
}

// Close implements net.Conn.
func (v *visit) Close() error {
	v.leave()
	return v.Conn.Close()
}

// listen binds a socket in dir, whose lock the caller holds, and listens on it. A socket that is
// there belongs to a process that has ended.
func listen(dir string) (net.Listener, error) {
	path := filepath.Join(dir, SocketName)
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSocket == 0 {
		return nil, &fs.PathError{Op: "listen", Path: path, Err: errors.New("there is a file that is not a socket")}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	file, err := bind(path)
	if err != nil {
		return nil, &fs.PathError{Op: "listen", Path: path, Err: err}
	}
	defer file.Close() // the listener has a copy
	return net.FileListener(file)
}

// bind returns a socket that listens at path. No other user can connect at any time: the file has
// its mode before connections are accepted, and on Linux from its creation.
func bind(path string) (*os.File, error) {
	syscall.ForkLock.RLock()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), path)
	_ = unix.Fchmod(fd, 0o600) // the mode of the file that Linux creates
	err = short(path, func(address string) error { return unix.Bind(fd, &unix.SockaddrUnix{Name: address}) })
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err == nil {
		err = unix.Listen(fd, backlog)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// backlog is how many connections wait until they are accepted.
const backlog = 128
