package mcp

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// A program does not end with the thread of the code that wants it.
func TestAProgramOutlivesTheThreadOfItsCaller(t *testing.T) {
	t.Parallel()
	var s Stream
	var err error
	thread := make(chan int)
	go func() {
		runtime.LockOSThread() // and ends the thread when this function returns
		s, err = startProcess(t.Context(), Program{Name: "cat", Args: []string{"cat"}, Stderr: io.Discard})
		thread <- syscall.Gettid()
	}()
	id := <-thread
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ends := id != os.Getpid() // Go keeps the first thread
	for task := fmt.Sprintf("/proc/self/task/%d", id); ends; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(task); err != nil {
			break
		}
	}
	if _, err := io.WriteString(s, "alive\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(s).ReadString('\n'); line != "alive\n" {
		t.Errorf("%q, %v; want what was written", line, err)
	}
}
