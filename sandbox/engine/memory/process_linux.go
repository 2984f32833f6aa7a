package memory

import (
	"cmp"
	_ "embed"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"batch.example/batch/internal/owner"
	"batch.example/batch/sandbox/engine"
)

// The files of a container's directory beside its record.
const (
	inFile      = "in"     // a named pipe: process 1's stdin
	outFile     = "out"    // all of its stdout. A file, so that each connection reads all of it
	errFile     = "err"    // all of its stderr
	processFile = "pid"    // process 1, as an [owner.Owner]
	parentFile  = "parent" // who started it, as an [owner.Owner]
	exitFile    = "exit"   // its exit code, if its parent outlived it
)

//go:embed start.sh
var startScript string

const (
	namespaces = unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
	defaultShm = 64 << 20
	endLimit   = 20 * time.Second // for the kernel to end a container's processes, and for an exit code to be written
)

// launch starts process 1, with the files that the container has.
func (c *container) launch() error {
	for _, name := range []string{inFile, outFile, errFile, processFile, parentFile, exitFile} {
		_ = os.Remove(c.path(name))
	}
	if err := unix.Mkfifo(c.path(inFile), 0o600); err != nil {
		return err
	}
	env := append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/", "HOSTNAME=sandbox"}, c.Env...)
	shm := cmp.Or(c.ShmSize, defaultShm)
	base, _ := split(c.Files.Image)
	args := []string{"-c", startScript, "batch", strconv.FormatInt(shm, 10), c.fleet.helper, cmp.Or(c.Files.Folder, base), engine.FilesDir}
	cmd := exec.Command("bash", append(args, env...)...)
	cmd.Dir = c.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: namespaces}
	var ends []*os.File
	defer func() {
		for _, f := range ends {
			_ = f.Close()
		}
	}()
	var err error
	end := func(name string, flags int) *os.File {
		f, failed := os.OpenFile(c.path(name), flags, 0o600)
		ends, err = append(ends, f), errors.Join(err, failed)
		return f
	}
	cmd.Stdin = end(inFile, os.O_RDWR) // both ends, so that the helper never sees its end
	cmd.Stdout = end(outFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND)
	cmd.Stderr = end(errFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = errors.Join(write(c.path(parentFile), owner.Self().String()), write(c.path(processFile), owner.Of(cmd.Process.Pid).String()))
	go func() {
		_ = cmd.Wait() // the code says it
		_ = write(c.path(exitFile), strconv.Itoa(cmd.ProcessState.ExitCode()))
	}()
	return err
}

// write writes a small file at once.
func write(path, text string) error {
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// state describes process 1 of the container in dir.
func state(dir string) (one owner.Owner, alive, started bool) {
	text, err := os.ReadFile(filepath.Join(dir, processFile))
	if err != nil {
		return one, false, false
	}
	one, _ = owner.Parse(string(text))
	return one, lives(one), true
}

func lives(o owner.Owner) bool {
	return o.Liveness(owner.Self(), true) == owner.Alive && !isZombie(o.Pid)
}

// isZombie reports whether a process has ended, and its parent did not wait for it yet.
func isZombie(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.HasPrefix(string(text[strings.LastIndexByte(string(text), ')')+1:]), " Z")
}

var errStays = errors.New("its processes do not end")

// kill ends all processes of the container in dir.
func kill(dir string) error {
	for end := time.Now().Add(endLimit); ; time.Sleep(2 * time.Millisecond) {
		one, alive, _ := state(dir)
		switch {
		case !alive:
			return nil
		case time.Now().After(end):
			return errStays
		}
		if err := syscall.Kill(one.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
}

// exitCode returns the exit code of process 1, which has ended; -1: a signal ended it, or the code is
// unknown, because its parent had ended before.
func exitCode(dir string) int {
	text, _ := os.ReadFile(filepath.Join(dir, parentFile)) // without it, the parent is unknown and not waited for
	parent, _ := owner.Parse(string(text))
	for end := time.Now().Add(endLimit); ; time.Sleep(5 * time.Millisecond) {
		last := !lives(parent) || time.Now().After(end)
		text, err := os.ReadFile(filepath.Join(dir, exitFile))
		if code, bad := strconv.Atoi(string(text)); err == nil && bad == nil {
			return code
		}
		if last {
			return -1
		}
	}
}
