package docker_test

import (
	"testing"

	"batch.example/batch/docker"
	"batch.example/batch/fault"
)

func TestACommandThatKillsEverythingIsObserved(t *testing.T) {
	e := connect(t)
	for _, tt := range []struct{ name, script string }{
		{"all it may", "echo part; kill -9 -1; sleep 5"},
		{"every bash", "echo part; for d in /proc/[0-9]*; do p=${d#/proc/}; ((p == $$)) || kill -9 $p; done 2>/dev/null; sleep 5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := start(t, e, docker.Spec{WorkDir: "/testbed"})
			run(t, c, "echo kept >file")
			r := run(t, c, tt.script)
			if r.ExitCode != 137 || string(r.Output) != "part\n" || r.TimedOut || r.OOM {
				t.Errorf("result %+v, output %q", r, r.Output)
			}
			if r := run(t, c, "cat file"); string(r.Output) != "kept\n" {
				t.Errorf("afterwards: code %d, output %q", r.ExitCode, r.Output)
			}
		})
	}
}

func TestAContainerThatKeepsDyingIsAFault(t *testing.T) {
	c := start(t, connect(t), docker.Spec{})
	for n := range 10 {
		r, err := c.Run(t.Context(), docker.Command{Script: "kill -9 -1"})
		if fault.KindOf(err) == fault.Transient && n > 0 {
			return
		}
		if err != nil || r.ExitCode != 137 {
			t.Fatalf("time %d: %+v, %v", n, r, err)
		}
	}
	t.Error("no fault")
}
