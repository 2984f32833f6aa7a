package box

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"batch.example/batch/internal/boxinit/packed"
	"batch.example/batch/internal/boxinit/wire"
	"batch.example/batch/vocab"
)

// local is the helper as a process of this machine, and its carrier.
type local struct {
	dir           string
	key           wire.Key
	stdin, stdout *os.File
	box           *Box // that connects
}

// unpacked is the helper that engines put into containers.
var unpacked = sync.OnceValues(func() ([]byte, error) { return packed.Unpack(packed.For(runtime.GOARCH)) })

// alone are the words that make the helper process 1 of a pid namespace, as in a container; none where
// this user may not make one.
var alone = sync.OnceValue(func() []string {
	words := []string{"unshare", "--pid", "--mount-proc", "--fork", "--kill-child"}
	if os.Getuid() != 0 {
		words = append(words, "--map-root-user")
	}
	if exec.Command(words[0], append(words[1:len(words):len(words)], "true")...).Run() != nil {
		return nil
	}
	return words
})

// start starts a helper and connects to it.
func start(t testing.TB) *local {
	t.Helper()
	program, err := unpacked()
	if err != nil {
		t.Fatal(err)
	}
	h := &local{dir: t.TempDir()}
	path := filepath.Join(h.dir, "init")
	// A program that another test forks now would have the file open for writing: text file busy.
	syscall.ForkLock.RLock()
	err = os.WriteFile(path, program, 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	theirs := [2]*os.File{}
	if theirs[0], h.stdin, err = os.Pipe(); err != nil {
		t.Fatal(err)
	}
	if h.stdout, theirs[1], err = os.Pipe(); err != nil {
		t.Fatal(err)
	}
	args := append(slices.Clone(alone()), path)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, f := range theirs {
		_ = f.Close()
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = h.stdin.Close()
		_ = h.stdout.Close()
	})
	_, _ = rand.Read(h.key[:])
	h.connect(t, Started)
	return h
}

// connect connects another Box, as another process of batch would.
func (h *local) connect(t testing.TB, s State) {
	t.Helper()
	h.box = New(h, h.key, time.Hour)
	t.Cleanup(h.box.Close)
	if err := h.box.Begin(t.Context(), h.pipe(), s); err != nil {
		t.Fatal(err)
	}
}

// lose ends the connection as a killed process does: the helper does not notice.
func (h *local) lose() {
	l := h.box.current()
	_ = l.pipe.Close()
	<-l.done
}

func (*local) Name() string                           { return "local" }
func (h *local) Dir() string                          { return h.dir }
func (h *local) Connect(ctx context.Context) error    { return h.box.Begin(ctx, h.pipe(), Running) }
func (*local) Stop(context.Context, string) error     { return errors.New("it cannot be stopped") }
func (*local) Start(context.Context) error            { return errors.New("it cannot be started") }
func (*local) Admit() (func(), error)                 { return func() {}, nil }
func (*local) DiskUse(context.Context) *vocab.DiskUse { return nil }
func (*local) Destroyed(f error) error                { return f }

// ends is a Pipe of its own to the helper.
type ends struct{ in, out *os.File }

func (h *local) pipe() Pipe { return ends{again(h.stdin), again(h.stdout)} }

// again opens a file another time.
func again(f *os.File) *os.File {
	raw, _ := f.SyscallConn()
	var fd int
	_ = raw.Control(func(old uintptr) { fd, _ = syscall.Dup(int(old)) })
	return os.NewFile(uintptr(fd), f.Name())
}

func (e ends) Read(p []byte) (int, error)         { return e.out.Read(p) }
func (e ends) Write(p []byte) (int, error)        { return e.in.Write(p) }
func (e ends) SetWriteDeadline(t time.Time) error { return e.in.SetWriteDeadline(t) }
func (e ends) Close() error                       { return errors.Join(e.in.Close(), e.out.Close()) }
func (ends) Said() string                         { return "" }

// running are the arguments of the processes that have the word in them, by their ids.
func running(word string) map[int]string {
	found := map[int]string{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		args, _ := os.ReadFile(dir + "/cmdline")
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil && strings.Contains(string(args), word) {
			found[pid] = strings.ReplaceAll(string(args), "\x00", " ")
		}
	}
	return found
}

// gone waits until no process has the word in its arguments.
func gone(t testing.TB, word string, within time.Duration) {
	t.Helper()
	for end := time.Now().Add(within); ; time.Sleep(10 * time.Millisecond) {
		left := running(word)
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Errorf("left: %v", left)
			return
		}
	}
}

// pipes are two ends of a connection.
func pipes(t testing.TB) (here, there ends) {
	t.Helper()
	var err error
	if there.out, here.in, err = os.Pipe(); err == nil {
		here.out, there.in, err = os.Pipe()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = here.Close(), there.Close() })
	return here, there
}
