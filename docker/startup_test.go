package docker_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"batch.example/batch/docker"
)

func TestAnImageWhoseBashWarnsAtItsStartIsUsable(t *testing.T) {
	e := connect(t)
	for _, tt := range []struct{ name, env, warning string }{
		{"a locale that is not installed", "LC_ALL=en_US.UTF-8", "setlocale"},
		{"a library that is not there", "LD_PRELOAD=/nosuch.so", "ld.so"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := start(t, e, docker.Spec{Env: []string{tt.env}})
			if r := run(t, c, "echo marker"); string(r.Output) != "marker\n" {
				t.Errorf("a bash that warned at its start: %q", r.Output)
			}
			r := runCommand(t, c, docker.Command{Script: "echo marker", Fresh: true})
			if n := strings.Count(string(r.Output), tt.warning); n != 1 || !strings.HasSuffix(string(r.Output), "marker\n") {
				t.Errorf("%d warnings, want the one of the command's own bash: %q", n, r.Output)
			}
			quiet := runCommand(t, c, docker.Command{Args: []string{"echo"}, Script: "marker", Env: []string{"LD_PRELOAD="}})
			if string(quiet.Output) != "marker\n" {
				t.Errorf("output of a program that does not warn: %q", quiet.Output)
			}
			run(t, c, "nohup sleep 60 >/dev/null 2>&1 &")
			if r := runCommand(t, c, docker.Command{Script: "sleep 61", Timeout: 300 * time.Millisecond}); !r.TimedOut {
				t.Errorf("result %+v", r)
			}
			if left := processes(t, c); len(left) != 1 {
				t.Errorf("the container was restarted, or the killer failed: %q", left)
			}
		})
	}
}

func TestAStartFileThatCannotBeReadIsLeftOut(t *testing.T) {
	c := start(t, connect(t), docker.Spec{User: "1000:1000"})
	files := map[string]os.FileMode{"/secret": 0o600, "/open": 0o644}
	for name, mode := range files {
		if err := c.CopyIn(t.Context(), name, mode, []byte("echo started\n")); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ name, file, want string }{
		{"unreadable", "/secret", "[]\n"},
		{"readable", "/open", "started\n[/open]\n"},
		{"readable by way of a variable", "$ROOT/open", "started\n[$ROOT/open]\n"},
		{"readable by way of a command", "`echo /open`", "started\n[`echo /open`]\n"},
		{"missing", "/nosuch", "[]\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := runCommand(t, c, docker.Command{Script: `echo "[$BASH_ENV]"`, Env: []string{"ROOT=", "BASH_ENV=" + tt.file}, Fresh: true})
			if string(r.Output) != tt.want {
				t.Errorf("output %q, want %q", r.Output, tt.want)
			}
			r = runCommand(t, c, docker.Command{Script: `echo "[$BASH_ENV]"`, Env: []string{"ROOT=", "BASH_ENV=" + tt.file}})
			if want := strings.TrimPrefix(tt.want, "started\n"); string(r.Output) != want {
				t.Errorf("in a warm shell: output %q, want %q", r.Output, want)
			}
		})
	}
}
