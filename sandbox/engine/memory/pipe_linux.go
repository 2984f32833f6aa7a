package memory

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// pipe is a [box.Pipe] to process 1 of a container.
type pipe struct {
	in, out *os.File
	events  *os.File // inotify's, about out
	stderr  string   // its path
	ended   bool     // nothing more will be written to out
}

var errNotRunning = errors.New("the container does not run")

// connect returns a new connection. It reads what process 1 writes from now on.
func connect(dir string) (*pipe, error) {
	p := &pipe{stderr: filepath.Join(dir, errFile)}
	err := p.open(dir)
	if err == nil {
		return p, nil
	}
	for _, f := range []*os.File{p.in, p.out, p.events} {
		if f != nil {
			_ = f.Close()
		}
	}
	return nil, err
}

func (p *pipe) open(dir string) (err error) {
	if p.out, err = os.Open(filepath.Join(dir, outFile)); err != nil {
		return err
	}
	if _, err = p.out.Seek(0, io.SeekEnd); err != nil {
		return err
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return err
	}
	p.events = os.NewFile(uintptr(fd), "inotify")
	if _, err = unix.InotifyAddWatch(fd, filepath.Join(dir, outFile), unix.IN_MODIFY|unix.IN_CLOSE_WRITE); err != nil {
		return err
	}
	if p.in, err = os.OpenFile(filepath.Join(dir, inFile), os.O_WRONLY|unix.O_NONBLOCK, 0); err != nil {
		return err
	}
	if _, alive, _ := state(dir); !alive { // its end may have come before the watch
		return errNotRunning
	}
	return nil
}

// Read implements [io.Reader].
func (p *pipe) Read(b []byte) (int, error) {
	for {
		n, err := p.out.Read(b)
		if n > 0 || err != nil && !errors.Is(err, io.EOF) || p.ended {
			return n, err
		}
		if err := p.await(); err != nil {
			return 0, err
		}
	}
}

// await waits until out is longer, or was closed by its last writer.
func (p *pipe) await() error {
	var b [16 * unix.SizeofInotifyEvent]byte // events of a file have no names
	n, err := p.events.Read(b[:])
	for at := 0; at+unix.SizeofInotifyEvent <= n; at += unix.SizeofInotifyEvent {
		p.ended = p.ended || binary.NativeEndian.Uint32(b[at+4:])&unix.IN_CLOSE_WRITE != 0
	}
	return err
}

// Write implements [io.Writer].
func (p *pipe) Write(b []byte) (int, error) { return p.in.Write(b) }

// SetWriteDeadline implements [box.Pipe].
func (p *pipe) SetWriteDeadline(t time.Time) error { return p.in.SetWriteDeadline(t) }

// Close implements [io.Closer].
func (p *pipe) Close() error {
	return errors.Join(p.events.Close(), p.in.Close(), p.out.Close())
}

// maxSaid is how much of stderr is returned.
const maxSaid = 2 << 10

// Said implements [box.Pipe].
func (p *pipe) Said() string {
	f, err := os.Open(p.stderr)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, maxSaid))
	return string(text)
}
