package mcp

import (
	"os/exec"
	"syscall"
)

// endWithThread has the program killed when the thread that starts it ends, so also when
// this process is killed. The kernel does not do that for a program with more rights than
// this process, such as one that is setuid.
func endWithThread(cmd *exec.Cmd) { cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL }
