package docker_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"

	"batch.example/batch/docker/containers"
	"batch.example/batch/fault"
	"batch.example/batch/vocab"
)

// killEvery kills every process but the command's own bash and the init.
const killEvery = "for d in /proc/[0-9]*; do p=${d#/proc/}; ((p == BASHPID || p == 1)) || kill -9 $p; done 2>/dev/null; kill -9 1; kill -STOP 1; exit 3"

func TestACommandThatKillsEverythingIsObservedHoweverOften(t *testing.T) {
	t.Parallel()
	e := connect(t)
	for name, tt := range map[string]struct {
		script string
		code   int
	}{
		"all it may":         {"echo part; kill -9 -1; exit 2", 2}, // which spares who calls it
		"and its parent":     {"echo part; sleep 0.01; kill -9 $PPID; exit 5", 5},
		"and itself":         {"echo part; kill -9 -1; kill -9 $$", 137},
		"all but itself":     {"echo part; " + killEvery, 3},
		"every signal there": {"echo part; for s in {1..64}; do kill -$s 1; done 2>/dev/null; exit 4", 4},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, e, containers.Spec{WorkDir: "/testbed"})
			run(t, c, "echo kept >file")
			for n := range 20 {
				r := runCommand(t, c, containers.Command{Script: tt.script, Ahead: true, Fresh: n%2 == 1, Timeout: time.Minute})
				if r.ExitCode != tt.code || string(r.Bytes) != "part\n" || r.TimedOut || r.OOM || r.Restarted {
					t.Errorf("result %+v, output %q", r, r.Bytes)
				}
				if r := runCommand(t, c, containers.Command{Script: "cat file", Ahead: true}); string(r.Bytes) != "kept\n" {
					t.Errorf("afterwards: %+v, output %q", r, r.Bytes)
				}
			}
		})
	}
}

// What somebody does to a container through the engine is not its own doing, also
// when it killed itself before, and also while nothing runs in it.
func TestAContainerThatSomebodyEndedIsAFaultOfOurs(t *testing.T) {
	t.Parallel()
	e := connect(t)
	api := raw(t)
	for name, end := range map[string]func(ctx context.Context, id string) error{
		"killed":  func(ctx context.Context, id string) error { return api.ContainerKill(ctx, id, "KILL") },
		"stopped": func(ctx context.Context, id string) error { return api.ContainerStop(ctx, id, container.StopOptions{}) },
		"removed": func(ctx context.Context, id string) error {
			return api.ContainerRemove(ctx, id, container.RemoveOptions{Force: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, e, containers.Spec{Memory: 64 << 20})
			run(t, c, "kill -9 -1")
			run(t, c, "x=x; while :; do x=$x$x; done")
			if err := end(t.Context(), c.ID()); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				r, err := c.Run(t.Context(), containers.Command{Script: "true"})
				if fault.KindOf(err) != fault.Transient || errors.Is(err, vocab.ErrDestroyed) || r.Restarted {
					t.Errorf("%+v, %v (%v)", r, err, fault.KindOf(err))
				}
			}
		})
	}
}

// Memory that no process holds is not given back by ending processes.
func TestAContainerThatEndedForMemoryIsStartedAgain(t *testing.T) {
	t.Parallel()
	c := start(t, connect(t), containers.Spec{Memory: 48 << 20, ShmSize: 1 << 30})
	run(t, c, "echo kept >/tmp/file")
	for range 2 {
		if r := run(t, c, "x=x; while :; do x=$x$x; done"); r.ExitCode != 137 || !r.OOM || r.Restarted {
			t.Errorf("%+v", r)
		}
		r := run(t, c, "cat /dev/zero >/dev/shm/full; sleep 0.2; echo on")
		for n := 0; !r.Restarted && n < 50; n++ {
			r = run(t, c, "echo $BASHPID")
		}
		if r.ExitCode != 137 || !r.OOM || !r.Restarted {
			t.Errorf("%+v, %q", r, r.Bytes)
		}
		if r := run(t, c, "cat /tmp/file"); string(r.Bytes) != "kept\n" || r.Restarted {
			t.Errorf("afterwards: %+v, %q", r, r.Bytes)
		}
	}
}

// Where no interpreter can be started any more, it says so at once and each time, and
// never that it is worth another try.
func TestAContainerThatRuinedItselfIsDestroyed(t *testing.T) {
	t.Parallel()
	e := connect(t)
	for name, script := range map[string]string{
		"no bash":            "rm -f /bin/bash /usr/bin/bash",
		"bash is no program": "echo no program >/usr/bin/t; chmod 755 /usr/bin/t; ln -f /usr/bin/t /usr/bin/bash",
		"bash must not run":  "chmod 0 /usr/bin/bash",
		"its loader is gone": "rm -rf /lib64 /usr/lib64 /lib/ld-* /usr/lib/ld-*",
		"everything is gone": "rm -rf --no-preserve-root / 2>/dev/null",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := start(t, e, containers.Spec{})
			runCommand(t, c, containers.Command{Script: script, Timeout: time.Minute})
			for range 2 {
				_, err := c.Run(t.Context(), containers.Command{Script: "true"})
				if !errors.Is(err, vocab.ErrDestroyed) || fault.KindOf(err) != fault.Instance || strings.Count(err.Error(), "\n") > 0 {
					t.Errorf("%v: %v", fault.KindOf(err), err)
				}
			}
		})
	}
}

// An interpreter that was never there is the image's fault, and other commands run.
func TestAnInterpreterThatIsNotThereIsTheImagesFault(t *testing.T) {
	c := start(t, connect(t), containers.Spec{})
	for range 2 {
		_, err := c.Run(t.Context(), containers.Command{Args: []string{"nosuch", "-c"}, Script: "x"})
		if errors.Is(err, vocab.ErrDestroyed) || fault.KindOf(err) != fault.Instance || !strings.Contains(fault.HintOf(err), "nosuch") {
			t.Errorf("%v: %v; hint %q", fault.KindOf(err), err, fault.HintOf(err))
		}
	}
	run(t, c, "true")
}

// What a command leaves behind may take all room there is for processes.
func TestAContainerWithoutRoomForACommandIsEmptied(t *testing.T) {
	t.Parallel()
	c := start(t, connect(t), containers.Spec{PidsLimit: 60})
	run(t, c, "echo kept >/tmp/file; for i in {1..90}; do sleep 100 & done >/dev/null 2>&1; kill -9 $$")
	if r := run(t, c, "cat /tmp/file"); string(r.Bytes) != "kept\n" || !r.Restarted {
		t.Errorf("%+v, %q", r, r.Bytes)
	}
}

// Without /dev/null, stdin is empty all the same.
func TestStdinIsEmptyAlsoWithoutDevNull(t *testing.T) {
	c := start(t, connect(t), containers.Spec{WorkDir: "/testbed"})
	run(t, c, "rm -rf /dev/null /testbed; mkdir /testbed; echo secret >/dev/null")
	r := runCommand(t, c, containers.Command{Script: "cat; echo $?; rm -rf /testbed", Timeout: 10 * time.Second})
	if string(r.Bytes) != "0\n" || r.ExitCode != 0 {
		t.Errorf("%+v, %q", r, r.Bytes)
	}
	if r := run(t, c, "true"); r.ExitCode != 126 || !strings.Contains(string(r.Bytes), "/testbed: no such file") {
		t.Errorf("what is missing is not told: %+v, %q", r, r.Bytes)
	}
}
