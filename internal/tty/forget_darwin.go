package tty

import (
	"os"

	"golang.org/x/sys/unix"
)

// Forget drops what was typed at a terminal and not read yet: it does not answer the
// question that comes now.
func Forget(terminal *os.File) {
	_ = unix.IoctlSetPointerInt(int(terminal.Fd()), unix.TIOCFLUSH, unix.TCIFLUSH)
}
