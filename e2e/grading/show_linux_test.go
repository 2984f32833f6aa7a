package grading

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
)

// On a terminal a trajectory goes through the pager, in colors; a pager that does not
// read it is not an error, and NO_COLOR and --no-pager are respected.
func TestShowOnATerminal(t *testing.T) {
	tier.Rest(t, "report", "results/*.go", "results/trajectory", "cmd/batch/show*.go")
	t.Parallel()
	dir := t.TempDir()
	text := `{"info":{"exit_status":"Submitted"},"messages":[{"role":"system","content":"\u001b[31m` + strings.Repeat(`line\n`, 50) + `"},
{"role":"assistant","content":"` + strings.Repeat("word ", 40000) + `"}],"trajectory_format":"mini-swe-agent-1.1","instance_id":"a"}`
	if err := os.WriteFile(filepath.Join(dir, "a.traj.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what      string
		env, args []string
		want, not string
	}{
		{"the pager", []string{"PAGER=sed s/^/paged:/"}, nil, "paged:", "batch:"},
		{"batch's own", []string{"PAGER=false", "BATCH_PAGER=sed s/^/mine:/"}, nil, "mine:", "batch:"},
		{"colors", []string{"PAGER=cat"}, nil, "\x1b[1m--- step 1", "\x1b[31m"},
		{"no colors", []string{"PAGER=cat", "NO_COLOR=1"}, nil, "--- step 1", "\x1b["},
		{"no pager", []string{"PAGER=sed s/^/paged:/"}, []string{"--no-pager"}, "instance", "paged:"},
		{"a pager that reads nothing", []string{"PAGER=true"}, nil, "", "batch:"},
		{"a pager that is not there", []string{"PAGER=no-such-pager"}, nil, "set BATCH_PAGER to another one", ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			cmd := e2e.Batch(t, dir, append([]string{"show", "a.traj.json"}, c.args...)...)
			cmd.Env = append(cmd.Environ(), c.env...)
			out := e2e.OnTerminal(t, cmd)
			if !strings.Contains(out, c.want) || c.not != "" && strings.Contains(out, c.not) {
				t.Errorf("it has no %q, or %q:\n%.600s", c.want, c.not, out)
			}
		})
	}
}
