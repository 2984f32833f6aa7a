package control

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

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
