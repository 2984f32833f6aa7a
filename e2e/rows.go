package e2e

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// OwnRows writes a dataset of four instances on a demo image, with ids that no
// other test has: tests of other packages use the engine at the same time.
func OwnRows(t *testing.T, dir string) (prefix string) {
	t.Helper()
	prefix = "own-" + strings.ToLower(rand.Text()[:8]) + "__"
	var rows strings.Builder
	for i := range 4 {
		fmt.Fprintf(&rows, `{"instance_id":"%s%d","problem_statement":"p","image_name":"batch-demo/demo__slug-1:latest"}`+"\n", prefix, i)
	}
	if err := os.WriteFile(filepath.Join(dir, "rows.jsonl"), []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return prefix
}

// SlowScript makes every instance wait in its first command for the file /tmp/go in its
// container (see [MakeInContainers]), unless the program's environment has GO. A resumed attempt
// repeats the command with the environment of then.
const SlowScript = `"*":
  - bash: 'echo working > work.txt; until test "$GO" || test -e /tmp/go; do sleep 0.1; done'
  - bash: "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
`

// SlowArgs run OwnRows with SlowScript.
var SlowArgs = []string{
	"run", "--subset", "rows.jsonl", "-w", "2", "-m", "scripted/slow.yaml", "-o", "out", "-c", "environment.timeout=600",
	"-c", `environment.forward_env=["GO"]`,
}

// StartSlow starts a run and waits until its instances are in their command.
func StartSlow(t *testing.T, dir string, instances int, env ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "slow.yaml"), []byte(SlowScript), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := Batch(t, dir, append(slices.Clone(SlowArgs), "--json")...)
	cmd.Env = append(cmd.Env, env...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for seen := 0; seen < instances && lines.Scan(); {
		if strings.Contains(lines.Text(), `"phase":"commands"`) {
			seen++
		}
	}
	return cmd, lines
}

// WriteFiles writes texts below dir, by name.
func WriteFiles(tb testing.TB, dir string, files map[string]string) {
	tb.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
}
