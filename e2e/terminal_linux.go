package e2e

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// OnTerminal runs cmd on its own terminal and returns the whole output.
func OnTerminal(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	ours, theirs := OpenTerminal(t)
	defer ours.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, theirs
	cmd.Env = append(cmd.Env, "TERM=xterm")
	err := cmd.Start()
	_ = theirs.Close() // the program has its own copy
	if err != nil {
		t.Fatal(err)
	}
	out, _ := io.ReadAll(ours) // reading fails when the other end is closed
	_ = cmd.Wait()             // callers do not check its exit code
	return string(out)
}

// OpenTerminal makes a terminal of 24 lines and 100 columns, with its two ends.
func OpenTerminal(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	fd := int(ours.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 100}); err != nil {
		t.Fatal(err)
	}
	theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}
