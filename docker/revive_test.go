package docker_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"

	"batch.example/batch/docker"
	"batch.example/batch/fault"
)

// killEvery kills every bash but the command's own, the keeper included.
const killEvery = "for d in /proc/[0-9]*; do p=${d#/proc/}; ((p == BASHPID)) || kill -9 $p; done 2>/dev/null; sleep 5"

func TestACommandThatKillsEverythingIsObservedHoweverOften(t *testing.T) {
	e := connect(t)
	for name, script := range map[string]string{
		"all it may": "echo part; kill -9 -1; sleep 5",
		"every bash": "echo part; " + killEvery,
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, e, docker.Spec{WorkDir: "/testbed"})
			run(t, c, "echo kept >file")
			for range 6 {
				r := run(t, c, script)
				if r.ExitCode != 137 || string(r.Output) != "part\n" || r.TimedOut || r.OOM || !r.Restarted {
					t.Errorf("result %+v, output %q", r, r.Output)
				}
				if r := run(t, c, "cat file"); string(r.Output) != "kept\n" || r.Restarted {
					t.Errorf("afterwards: %+v, output %q", r, r.Output)
				}
			}
		})
	}
}

// What a command leaves behind may kill everything while nothing runs, and so
// long ago that the engine has forgotten how it ended.
func TestAContainerThatItsProcessesEndedBetweenCommandsGoesOn(t *testing.T) {
	e := connect(t)
	api := raw(t)
	c, other := start(t, e, docker.Spec{WorkDir: "/testbed"}), start(t, e, docker.Spec{})
	run(t, c, "echo kept >file; (sleep 0.2; kill -9 -1) >/dev/null 2>&1 &")
	awaitEnd(t, c)
	for range 300 { // the engine keeps 256 events
		if _, err := api.ContainerExecCreate(t.Context(), other.ID(), container.ExecOptions{Cmd: []string{"true"}}); err != nil {
			t.Fatal(err)
		}
	}
	if r := run(t, c, "cat file"); string(r.Output) != "kept\n" || !r.Restarted {
		t.Errorf("%+v, output %q", r, r.Output)
	}
	if r := run(t, c, "cat file"); r.Restarted {
		t.Errorf("told twice: %+v", r)
	}
}

func awaitEnd(t *testing.T, c *docker.Container) {
	t.Helper()
	api := raw(t)
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		in, err := api.ContainerInspect(t.Context(), c.ID())
		if err != nil || time.Now().After(end) {
			t.Fatalf("it does not end: %v", err)
		}
		if !in.State.Running {
			return
		}
	}
}

// What somebody does to a container through the engine is not its own doing, also
// when it killed itself before, and also while nothing runs in it.
func TestAContainerThatSomebodyEndedIsAFaultOfOurs(t *testing.T) {
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
			c := start(t, e, docker.Spec{Memory: 64 << 20})
			run(t, c, "kill -9 -1")
			run(t, c, "x=x; while :; do x=$x$x; done")
			if err := end(t.Context(), c.ID()); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				r, err := c.Run(t.Context(), docker.Command{Script: "true"})
				if fault.KindOf(err) != fault.Transient || errors.Is(err, docker.ErrDestroyed) || r.Restarted {
					t.Errorf("%+v, %v (%v)", r, err, fault.KindOf(err))
				}
			}
		})
	}
}

func TestAContainerThatEndedForMemoryGoesOn(t *testing.T) {
	c := start(t, connect(t), docker.Spec{Memory: 48 << 20})
	for range 2 {
		if r := run(t, c, "x=x; while :; do x=$x$x; done"); r.ExitCode != 137 {
			t.Errorf("%+v", r)
		}
		if r := run(t, c, "kill -9 -1; sleep 5"); r.ExitCode != 137 || !r.Restarted {
			t.Errorf("%+v", r)
		}
	}
}

// Where no bash can be started any more, it says so at once and each time, and
// never that it is worth another try.
func TestAContainerThatRuinedItselfIsDestroyed(t *testing.T) {
	e := connect(t)
	const noBash = "rm -f /bin/bash /usr/bin/bash; "
	for name, tt := range map[string]struct {
		before string
		script string
		limit  time.Duration
	}{
		"and its shell is killed":   {"", noBash + "kill -9 $$; sleep 5", time.Minute},
		"and everything is killed":  {"", noBash + "kill -9 -1; sleep 5", time.Minute},
		"and a command times out":   {noBash, "sleep 60", time.Second},
		"bash is another program":   {"", "cp /usr/bin/true /usr/bin/t; ln -f /usr/bin/t /usr/bin/bash; kill -9 $$; sleep 5", time.Minute},
		"bash is no program":        {"", "echo no program >/usr/bin/t; chmod 755 /usr/bin/t; ln -f /usr/bin/t /usr/bin/bash; kill -9 -1; sleep 5", time.Minute},
		"bash must not be run":      {"", "chmod 0 /usr/bin/bash; kill -9 $$; sleep 5", time.Minute},
		"its loader is gone":        {"", "rm -rf /lib64 /usr/lib64 /lib/ld-* /usr/lib/ld-*; kill -9 $$; sleep 5", time.Minute},
		"everything is gone":        {"", "rm -rf --no-preserve-root / 2>/dev/null; kill -9 -1; sleep 5", time.Minute},
		"and its processes died":    {noBash + "(sleep 0.3; kill -9 -1) >/dev/null 2>&1 &", "sleep 3", time.Minute},
		"bash is an endless script": {"", "printf '#!/usr/bin/sleep\\n' >/usr/bin/t; chmod 755 /usr/bin/t; ln -f /usr/bin/t /usr/bin/bash; kill -9 -1; sleep 5", time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := start(t, e, docker.Spec{})
			run(t, c, "true; "+tt.before)
			_, err := c.Run(t.Context(), docker.Command{Script: tt.script, Timeout: tt.limit})
			for range 2 {
				if !errors.Is(err, docker.ErrDestroyed) || fault.KindOf(err) != fault.Instance || strings.Count(err.Error(), "\n") > 0 {
					t.Errorf("%v: %v", fault.KindOf(err), err)
				}
				_, err = c.Run(t.Context(), docker.Command{Script: "true"})
			}
		})
	}
}

// A fork bomb left behind ends with its container's processes.
func TestAContainerWithoutRoomForAShellIsEmptied(t *testing.T) {
	c := start(t, connect(t), docker.Spec{PidsLimit: 50})
	run(t, c, "echo kept >/tmp/file; for i in {1..45}; do sleep 100 & done >/dev/null 2>&1; kill -9 $$")
	if r := run(t, c, "cat /tmp/file"); string(r.Output) != "kept\n" {
		t.Errorf("%+v, %q", r, r.Output)
	}
}

// Without /dev/null, a command must not read what is meant for its shell.
func TestStdinIsEmptyAlsoWithoutDevNull(t *testing.T) {
	c := start(t, connect(t), docker.Spec{WorkDir: "/testbed"})
	run(t, c, "rm -rf /dev/null /testbed; mkdir /testbed")
	r := runCommand(t, c, docker.Command{Script: "cat; echo $?; rm -rf /testbed", Timeout: 10 * time.Second})
	if string(r.Output) != "0\n" || r.ExitCode != 0 {
		t.Errorf("%+v, %q", r, r.Output)
	}
	if r := run(t, c, "true"); r.ExitCode != 126 || !strings.Contains(string(r.Output), "/testbed: No such file") {
		t.Errorf("what is missing is not told: %+v, %q", r, r.Output)
	}
}
