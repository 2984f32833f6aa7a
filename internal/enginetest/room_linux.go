package enginetest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// namespaces are the namespaces that a room has for itself.
const namespaces = unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC

// keep is the script that process 1 of a room runs. It hides the machine's files to which
// an engine always writes, and reaps processes until its standard input ends. Network
// settings stay writable, because the room has its own. Without -n, mount would write to
// the machine's /run.
const keep = `set -e
mount -n --make-rprivate /
mount -n -t proc proc /proc
mount -n --bind /proc/sys /proc/sys
mount -n --bind /proc/sys/net /proc/sys/net
mount -n -o remount,bind,ro /proc/sys
mount -n -t tmpfs tmpfs /run
if [ -d /etc/docker ]; then mount -n -t tmpfs tmpfs /etc/docker; fi
echo ready
read -r _ || true`

// room is a set of namespaces in which an engine runs: its processes, network links, mounts
// and IPC are separate from the machine's. When process 1 of the room ends, the kernel ends
// all others and removes the links and mounts. This happens even if this process is killed,
// because then the standard input of process 1 ends.
type room struct {
	keeper *exec.Cmd // process 1
	stdin  io.Closer // of process 1
}

func openRoom() (*room, error) {
	cmd := exec.Command("bash", "-c", keep)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Cloneflags: namespaces}
	var said strings.Builder
	cmd.Stderr = &said
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r := &room{cmd, stdin}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		return nil, fmt.Errorf("making namespaces: %w %s", errors.Join(err, r.close()), said.String())
	}
	return r, nil
}

// start starts cmd in the room.
func (r *room) start(cmd *exec.Cmd) error {
	started := make(chan error)
	go func() {
		// Never unlocked, so that the thread, which stays in the room, ends with the goroutine.
		runtime.LockOSThread()
		err := r.enter()
		if err == nil {
			err = cmd.Start()
		}
		started <- err
	}()
	return <-started
}

// enter moves this thread into the room's namespaces, and its future children into the PID
// namespace.
func (r *room) enter() error {
	// A thread that shares its working directory cannot enter a mount namespace.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("leaving the working directory: %w", err)
	}
	fd, err := unix.PidfdOpen(r.keeper.Process.Pid, 0)
	if err != nil {
		return fmt.Errorf("finding the namespaces: %w", err)
	}
	defer unix.Close(fd)
	if err := unix.Setns(fd, namespaces); err != nil {
		return fmt.Errorf("entering the namespaces: %w", err)
	}
	return nil
}

// close ends all processes in the room. The caller must have waited for the
// processes that it started with start.
func (r *room) close() error {
	return errors.Join(r.stdin.Close(), r.keeper.Wait())
}
