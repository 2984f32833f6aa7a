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

// apart is what a room's inhabitants have for themselves.
const apart = unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC

// keep is what process 1 of a room runs: it hides what of the machine's files
// an engine writes to wherever its own folder is, and reaps until its standard
// input ends. Settings of the network stay writable: they are the room's own.
// Without -n, mount would note itself in the machine's /run.
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

// room is where an engine lives: processes, links, mounts and IPC in it are
// not the machine's. When its process 1 ends the kernel ends all the others,
// and with them go the links and mounts. That happens at the latest when this
// process dies, in whichever way: then the standard input of process 1 ends.
type room struct {
	keeper *exec.Cmd // process 1
	door   io.Closer // its standard input
}

func openRoom() (*room, error) {
	cmd := exec.Command("bash", "-c", keep)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Cloneflags: apart}
	var said strings.Builder
	cmd.Stderr = &said
	door, err := cmd.StdinPipe()
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
	r := &room{cmd, door}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		return nil, fmt.Errorf("making namespaces: %w %s", errors.Join(err, r.close()), said.String())
	}
	return r, nil
}

// start starts cmd in the room.
func (r *room) start(cmd *exec.Cmd) error {
	started := make(chan error)
	go func() {
		// Never unlocked: a thread that has been in the room ends with the goroutine.
		runtime.LockOSThread()
		err := r.enter()
		if err == nil {
			err = cmd.Start()
		}
		started <- err
	}()
	return <-started
}

// enter moves this thread, and of the room's processes its children, into the room.
func (r *room) enter() error {
	// A thread that shares its working directory cannot go to other mounts.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("leaving the working directory: %w", err)
	}
	fd, err := unix.PidfdOpen(r.keeper.Process.Pid, 0)
	if err != nil {
		return fmt.Errorf("finding the namespaces: %w", err)
	}
	defer unix.Close(fd)
	if err := unix.Setns(fd, apart); err != nil {
		return fmt.Errorf("entering the namespaces: %w", err)
	}
	return nil
}

// close ends all that are in the room. Those that were started with start must
// have been waited for.
func (r *room) close() error {
	return errors.Join(r.door.Close(), r.keeper.Wait())
}
