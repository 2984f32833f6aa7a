// Package pgtest starts a PostgreSQL server for tests. The server is private: its data, and
// the socket that it listens on, are in a directory of its own, and it has no network. It
// ends with the test; on Linux also if the test is killed.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// ErrMissing says that no server is installed.
var ErrMissing = errors.New("no PostgreSQL server is installed: scripts/ensure-extras installs it")

const patience = 5 * time.Minute // for one step, which takes about a second on an idle machine

// Server is a running server, with one database.
type Server struct {
	bin, dir string
	as       *syscall.Credential // the server refuses to run as root
	log      *os.File
	cmd      *exec.Cmd
	ended    chan struct{} // closed when cmd has ended
}

// Start starts a server. The caller must [Server.Stop] it.
func Start() (*Server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(shared, "batch-postgres-")
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, dir: dir}
	if err := s.start(); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// shared is a directory that every user may enter, also the server's, which TMPDIR need not
// be. Its name is short, as that of a socket must be.
const shared = "/tmp"

func (s *Server) start() (err error) {
	if err := s.own(); err != nil {
		return err
	}
	if s.log, err = os.Create(s.dir + ".log"); err != nil {
		return err
	}
	init := s.command(context.Background(), "initdb", "-D", s.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if out, err := init.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return s.Resume()
}

// programs is the directory of the newest server of Debian's packages.
func programs() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(found) == 0 {
		return "", errors.Join(ErrMissing, err)
	}
	newest, best := "", 0
	for _, path := range found {
		bin := filepath.Dir(path)
		if n, err := strconv.Atoi(filepath.Base(filepath.Dir(bin))); err == nil && n > best {
			newest, best = bin, n
		}
	}
	if newest == "" {
		return "", ErrMissing
	}
	return newest, nil
}

// own gives the directory to the user that the server runs as.
func (s *Server) own() error {
	if os.Geteuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return err
	}
	s.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(s.dir, int(uid), int(gid))
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as, Setpgid: true}
	return cmd
}

// URL is the address of the database, for pgx.
func (s *Server) URL() string {
	return "postgres://postgres@/postgres?host=" + url.QueryEscape(s.dir)
}

// Resume starts the server again after [Server.Kill].
func (s *Server) Resume() error {
	cmd := s.command(context.Background(), "postgres", "-D", s.data(), "-k", s.dir, "-c", "listen_addresses=",
		"-c", "fsync=off", "-c", "max_connections=60", "-c", "shared_buffers=16MB")
	cmd.Stdout, cmd.Stderr = s.log, s.log
	endWithThread(cmd)
	started, ended := make(chan error), make(chan struct{})
	go func() { // the signal comes when the thread that starts the server ends
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(ended)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // Kill and Stop end it
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	s.cmd, s.ended = cmd, ended
	return s.answers()
}

// answers waits until the server accepts connections.
func (s *Server) answers() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		if s.command(ctx, "pg_isready", "-q", "-h", s.dir).Run() == nil {
			return nil
		}
		select {
		case <-s.ended:
			log, _ := os.ReadFile(s.log.Name())
			return fmt.Errorf("the server has ended: %s", log)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Kill ends the server at once, as a crash does: the connections break, and the next start
// recovers what was committed.
func (s *Server) Kill() error {
	if s.cmd == nil {
		return nil
	}
	err := s.cmd.Process.Signal(syscall.SIGQUIT)
	<-s.ended
	s.cmd = nil
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// Stop ends the server and removes all that it has made.
func (s *Server) Stop() error {
	err := s.Kill()
	if s.log != nil {
		err = errors.Join(err, s.log.Close(), os.Remove(s.log.Name()))
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}
