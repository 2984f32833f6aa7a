package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// forgetInput drops what was typed at a terminal and not read yet: it does not answer the
// question that comes now.
func forgetInput(terminal *os.File) {
	_ = unix.IoctlSetPointerInt(int(terminal.Fd()), unix.TIOCFLUSH, unix.TCIFLUSH)
}
