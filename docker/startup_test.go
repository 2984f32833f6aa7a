package docker_test

import (
	"strings"
	"testing"
	"time"

	"batch.example/batch/docker/containers"
	"batch.example/batch/internal/tier"
	"batch.example/batch/sandbox/engine"
)

func TestAnImageWhoseBashWarnsAtStartIsUsable(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	e := connect(t)
	for _, tt := range []struct{ name, env, warning string }{
		{"a locale that is not installed", "LC_ALL=en_US.UTF-8", "setlocale"},
		{"a library that is not there", "LD_PRELOAD=/nosuch.so", "ld.so"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := start(t, e, engine.Spec{Env: []string{tt.env}})
			for _, cmd := range []containers.Command{{Ahead: true}, {Ahead: true}, {Fresh: true}} {
				cmd.Script = "echo marker"
				r := runCommand(t, c, cmd)
				if n := strings.Count(string(r.Bytes), tt.warning); n != 1 || !strings.HasSuffix(string(r.Bytes), "marker\n") {
					t.Errorf("%d warnings, want the one of the command's own bash: %q", n, r.Bytes)
				}
			}
			quiet := runCommand(t, c, containers.Command{Args: []string{"echo"}, Script: "marker", Env: []string{"LD_PRELOAD="}})
			if string(quiet.Bytes) != "marker\n" {
				t.Errorf("unexpected output of a bash that does not warn: %q", quiet.Bytes)
			}
			run(t, c, "nohup sleep 600 >/dev/null 2>&1 &")
			if r := runCommand(t, c, containers.Command{Script: "sleep 601", Timeout: 300 * time.Millisecond}); !r.TimedOut {
				t.Errorf("result %+v, want timed out true", r)
			}
			if left := processes(t, c); len(left) != 1 {
				t.Errorf("the container was restarted, or the killer failed: %q", left)
			}
		})
	}
}
