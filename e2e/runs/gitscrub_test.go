package runs

import (
	"context"
	"testing"
	"time"

	"batch.example/batch/docker/containers"
	"batch.example/batch/e2e"
	"batch.example/batch/internal/boxgit"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/vocab"
)

// The scrub has its own tests on repositories of this machine; here it runs in
// a container: with an image's layers, its limits, and users who own nothing.
func TestTheHistoryIsScrubbedInAContainer(t *testing.T) {
	e2e.NeedDocker(t)
	t.Parallel()
	e := e2e.Connect(t)
	const future = `cd /testbed && git config user.name t && git config user.email t@localhost &&
git checkout -q -b ahead && echo the solution > solution && git add solution && git commit -qm ahead &&
git rev-parse HEAD:solution > /tmp/solution && git checkout -q - && chmod a+r /tmp/solution`
	for _, tt := range []struct {
		name, user, owner string
		fine              bool
	}{
		{"as root", "", "root", true},
		{"as root in a repository of another", "", "nobody", true},
		{"as the owner", "nobody", "nobody", true},
		{"as one who may not write", "nobody", "root", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := e.Create(t.Context(), engine.Spec{
				Image: "batch-demo/demo__slug-1:latest", WorkDir: "/testbed", Unattended: 5 * time.Minute,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := c.Remove(context.Background()); err != nil {
					t.Error(err)
				}
			}()
			do := func(script string, args ...string) vocab.Output {
				t.Helper()
				r, err := c.Run(t.Context(), containers.Command{Script: script, Args: args, Timeout: 2 * time.Minute})
				if err != nil || r.TimedOut {
					t.Fatalf("got %+v, %v; want timed out false, no error", r, err)
				}
				return r
			}
			if r := do(future + " && chown -R " + tt.owner + " /testbed"); r.ExitCode != 0 {
				t.Fatalf("got %s, want exit code 0", r.Bytes)
			}
			shell := []string{"bash", "-p", "-c"}
			if tt.user != "" {
				shell = []string{"su", "-s", "/bin/bash", tt.user, "-c"}
			}
			r := do(boxgit.Script, shell...)
			report, err := boxgit.Read(r.Bytes, r.ExitCode)
			left := do("cd /testbed && git -c safe.directory='*' cat-file -e $(cat /tmp/solution)").ExitCode == 0
			if (err == nil) != tt.fine || left == tt.fine || (tt.fine && report.Verdict != "scrubbed") {
				t.Errorf("got %+v, error %v, the solution is left: %v", report, err, left)
			}
		})
	}
}
