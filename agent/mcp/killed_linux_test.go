package mcp_test

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestAProgramEndsWhenBatchIsKilled(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	holder := exec.CommandContext(t.Context(), self)
	holder.Env = append(os.Environ(), serveAs+"=holder")
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	pid, _, _ := strings.Cut(line, " ")
	server, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatalf("the helper says %q, want the id of the server's process", line)
	}
	t.Cleanup(func() { _ = syscall.Kill(server, syscall.SIGKILL) })
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait() // it was killed
	waitUntilGone(t, pid)
}
