package enginetest

import (
	"os"
	"os/exec"
	"sync"
	"testing"
)

// againVar has the value of a process that Again started.
const againVar = "BATCH_ENGINETEST_AGAIN"

// Value is the value that this process was started with by [Again]; empty: it was not.
func Value() string { return os.Getenv(againVar) }

// Again starts the named test in a process of its own, where [Value] returns the value, which is
// not empty. Kill kills the process, which also happens at the end of t, and waits for its end.
func Again(t testing.TB, name, value string) (kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+name+"$")
	cmd.Env = append(os.Environ(), againVar+"="+value)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // its exit code is the signal's
	})
	t.Cleanup(kill)
	return kill
}
