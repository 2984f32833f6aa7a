package pgtest

import (
	"os/exec"
	"syscall"
)

// endWithThread has the program ended when the thread that starts it ends.
func endWithThread(cmd *exec.Cmd) { cmd.SysProcAttr.Pdeathsig = syscall.SIGQUIT }
