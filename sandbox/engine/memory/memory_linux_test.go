package memory_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/enginetest"
	"batch.example/batch/sandbox/engine"
	conformance "batch.example/batch/sandbox/engine/enginetest"
	"batch.example/batch/sandbox/engine/memory"
)

func open(t testing.TB, dir string) engine.Engine {
	t.Helper()
	e, err := memory.At(dir)(t.Context(), engine.Options{})
	if err != nil {
		enginetest.Lacks(t, "%v", err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		for _, mounts := range []string{"/proc/self/mountinfo", "/proc/1/mountinfo"} {
			if text, _ := os.ReadFile(mounts); strings.Contains(string(text), dir) {
				t.Errorf("a mount is left in %s", mounts)
			}
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "[^.]*")); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	})
	return e
}

func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.Run(t, conformance.Options{Open: open, Image: func(t testing.TB) string {
		return enginetest.Directory(t, strings.Fields(conformance.Tools), nil)
	}})
}

func create(t *testing.T, e engine.Engine, s engine.Spec) engine.Container {
	t.Helper()
	s.Image, s.Unattended = "/", time.Minute
	return conformance.Create(t, e, s)
}

var says = conformance.Says

func TestTheMachineItselfIsAnImage(t *testing.T) {
	t.Parallel()
	const name = "/etc/batch-memory-test"
	c := create(t, open(t, t.TempDir()), engine.Spec{WorkDir: "/usr", Env: []string{"MINE=a b"}, ShmSize: 1 << 20})
	says(t, c, `pwd; echo "$MINE"; hostname; ls -A /tmp; echo $$ >`+name+`; rm /bin/ls; wc -l <`+name, "/usr\na b\nsandbox\n1\n")
	says(t, c, "head -c 2M /dev/zero >/dev/shm/x; echo $?", "head: error writing 'standard output': No space left on device\n1\n")
	says(t, c, "echo 0 >/proc/sys/kernel/panic; mount -t tmpfs x /mnt || echo no", "bash: line 1: /proc/sys/kernel/panic: Read-only file system\nmount: /mnt: permission denied.\n       dmesg(1) may have more information after failed mount system call.\nno\n")
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the machine has the container's file: %v", err)
	}
}

func TestAContainerIsStartedAgainWithItsFiles(t *testing.T) {
	t.Parallel()
	e := open(t, t.TempDir())
	c := create(t, e, engine.Spec{})
	says(t, c, "echo kept | tee /etc/kept >/tmp/kept; sleep 1000 & :", "")
	if err := memory.Restart(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	says(t, c, "cat /etc/kept /tmp/kept; ps ax | grep -c '[s]leep 1000'", "kept\nkept\n0\n")
	if _, err := e.Attach(t.Context(), c.ID()); fault.KindOf(err) != fault.Transient || !strings.Contains(err.Error(), "restarted") {
		t.Errorf("attaching to it: %v", err)
	}
}

func TestWhatTheEngineCannotDoIsRefused(t *testing.T) {
	t.Parallel()
	e := open(t, t.TempDir())
	for name, s := range map[string]engine.Spec{
		"user": {User: "nobody"}, "platform": {Platform: "linux/arm64"}, "capability": {CapAdd: []string{"ALL"}},
		"volume": {Volumes: []engine.Volume{{Name: "x", Path: "/x"}}}, "network": {Network: engine.Bridge},
	} {
		s.Image = "/"
		if _, err := e.Create(t.Context(), s); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: got %v, want a Usage fault", name, err)
		}
	}
	for _, id := range []string{"", ".", "..", "../x", ".helper"} {
		if err := e.Remove(t.Context(), id); err != nil {
			t.Errorf("removing %q: %v", id, err)
		}
	}
	create(t, e, engine.Spec{}) // the engine is whole
}

func TestBeforeMakesCallsFail(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := create(t, open(t, dir), engine.Spec{})
	var calls []string
	e, err := memory.At(dir)(t.Context(), engine.Options{Before: func(call string) error {
		calls = append(calls, call)
		return errors.New("no")
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, created := e.Create(t.Context(), engine.Spec{Image: "/"})
	_, attached := e.Attach(t.Context(), c.ID())
	for _, err := range []error{created, attached, e.Remove(t.Context(), c.ID())} {
		if fault.KindOf(err) != fault.Transient {
			t.Errorf("got %v, want a Transient fault", err)
		}
	}
	if got := strings.Join(calls, " "); got != "create attach remove" {
		t.Errorf("calls %s", got)
	}
	says(t, c, "echo alive", "alive\n")
}
