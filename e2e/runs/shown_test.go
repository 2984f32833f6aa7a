package runs

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
)

// notRun are shown lines that are not run, with the reason.
var notRun = map[string]string{
	"batch completion bash > /etc/bash_completion.d/batch":                    othersFolder,
	"batch completion bash > $(brew --prefix)/etc/bash_completion.d/batch":    othersFolder,
	`batch completion zsh > "${fpath[1]}/_batch"`:                             othersFolder,
	"batch completion zsh > $(brew --prefix)/share/zsh/site-functions/_batch": othersFolder,
	"batch completion fish > ~/.config/fish/completions/batch.fish":           othersFolder,
	"batch completion powershell | Out-String | Invoke-Expression":            otherShell,
	"batch completion fish | source":                                          otherShell,
	"source <(batch completion zsh)":                                          otherShell,

	"batch run --subset verified -m openai/gpt-5 -w 8 -o runs/gpt-5 --detach": "it continues after the test; a script runs one",
}

const (
	othersFolder = "it writes into a folder of the system or of another program"
	otherShell   = "it is not for bash"
)

// codes are the exit codes of shown lines that do not end with 0.
var codes = map[string]int{
	// What a gate asks for does not hold for the folder's runs.
	"batch compare runs/new --gate 'resolved >= 60%'":                       e2e.ExitGate,
	"batch compare runs/base runs/new --gate 'resolved >= -1pt' --markdown": e2e.ExitGate,
	// An instance has no attempt with a result.
	"batch select runs/sweep --by majority -o runs/majority":                         e2e.ExitIncomplete,
	"batch select runs/a runs/b runs/c --by tests -o runs/tests":                     e2e.ExitIncomplete,
	"batch select runs/sweep --entry gpt-5 --by judge -m openai/gpt-5 -o runs/judge": e2e.ExitIncomplete,
	// A conversation that ends without a word has no result.
	"batch chat --image me/repo -m openai/gpt-5 --whitelist 'ls|cat|git diff'": e2e.ExitIncomplete,
	// The attempts of the folder's run have no steps, and there is no note.
	`batch note runs/gpt-5 django__django-11019 "Fixes the wrong file." --step 7`: e2e.ExitUsage,
	"batch note runs/gpt-5 --remove k3j2m4n5":                                     e2e.ExitUsage,
	// A submission needs all instances of the dataset.
	"batch export runs/gpt-5 --leaderboard 20261123_my-agent_gpt-5 --name 'My Agent + GPT-5' --site https://my.example/agent " +
		"--report https://my.example/report --authors 'A. Author,B. Author' --org 'My Lab' --os-model=false --os-system=true": e2e.ExitUsage,
}

// steers are lines that need work that is running, and idle is the answer where there is none.
var (
	steers = regexp.MustCompile(`^batch ctl `)
	idle   = regexp.MustCompile(`no work (is running|has begun) there`)
)

const demoImage = "batch-demo/demo__slug-1:latest"

// filled replaces what stands for the reader's own in a shown line. All other names exist in the
// folder in which the line runs.
var filled = strings.NewReplacer(
	"rows.parquet", "rows.jsonl", "runs/fill/rows.jsonl", "rows.jsonl", "my-dataset/rows.jsonl -c my-dataset/", "rows.jsonl -c ", "...", "--subset verified -m openai/gpt-5",
	"INSTANCE", shownIDs[0], "DIR", "runs/gpt-5", "MODEL", "openai/gpt-5", "python:3.13", demoImage, "me/repo", demoImage, "IMAGE", demoImage,
	"0.0.0.0:8443", "0.0.0.0:0", ":4200", ":0", "HOST:8443", "localhost", "--repeat 5", "--repeat 2 --slice :1",
)

// What help, README.md, docs and the README of a new dataset show can be typed as it is there.
// A line that would run agents or tests only plans it: other tests, and internal/readme, run some.
func TestEveryShownCommandLineWorks(t *testing.T) {
	tier.Rest(t, "docs", "cmd/batch", "README.md")
	t.Parallel()
	lines, files := shownLines(t), shownFiles(t)
	served := t.TempDir()
	e2e.WriteFiles(t, served, files)
	run := filepath.Join(t.TempDir(), "run")
	shownRun(t, run, filepath.Join(served, "rows.jsonl"))
	for line := range notRun {
		if !slices.Contains(lines, line) {
			t.Errorf("not shown any more: %s", line)
		}
	}
	for line := range codes {
		if !slices.Contains(lines, line) {
			t.Errorf("not shown any more: %s", line)
		}
	}
	stub := startStub(t, served, "--subset", "rows.jsonl")
	t.Run("line", func(t *testing.T) {
		seen := map[string]bool{}
		for _, line := range lines {
			if seen[filled.Replace(line)] {
				continue
			}
			seen[filled.Replace(line)] = true
			t.Run(line, func(t *testing.T) {
				if notRun[line] != "" {
					t.Skip(notRun[line])
				}
				t.Parallel()
				text, dir := runnable(t, line), t.TempDir()
				e2e.WriteFiles(t, dir, files)
				makeRuns(t, dir, text, os.DirFS(run))
				cmd := exec.CommandContext(t.Context(), "bash", "-c", text)
				cmd.Dir, cmd.Env = dir, append(e2e.Batch(t, dir).Env, "HOME="+dir, "DOCKER_CONFIG="+dockerConfig(), "PAGER=cat", "GIT_CONFIG_COUNT=0")
				for name, value := range stub.exports {
					cmd.Env = append(cmd.Env, name+"="+value)
				}
				cmd.Stdin = strings.NewReader(`{"end":true}` + "\n")
				code, out := e2e.ExitCode(t, cmd)
				want := codes[line]
				if steers.MatchString(line) && idle.MatchString(out) {
					want = e2e.ExitUsage
				}
				if code != want {
					t.Errorf("exit code %d, want %d: %s\n%s", code, want, text, out)
				}
			})
		}
	})
	stub.stop(t)
}

// dockerConfig is where the engine's client is configured, which is below the real home.
func dockerConfig() string {
	home, _ := os.UserHomeDir()
	return cmp.Or(os.Getenv("DOCKER_CONFIG"), filepath.Join(home, ".docker"))
}

// makeRuns makes what a line names as runs/NAME or sweeps/NAME, except what it is to write.
func makeRuns(t *testing.T, dir, line string, run fs.FS) {
	t.Helper()
	if strings.Contains(line, "batch view") {
		if err := os.CopyFS(filepath.Join(dir, "runs", "any"), run); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range regexp.MustCompile(`(-o )?\b((?:runs|sweeps)/[\w-]+)`).FindAllStringSubmatch(line, -1) {
		path := filepath.Join(dir, m[2])
		if _, err := os.Stat(path); m[1] != "" || err == nil {
			continue
		}
		if strings.Contains(m[2], "sweep") {
			shownSweep(t, path, run)
		} else if err := os.CopyFS(path, run); err != nil {
			t.Fatal(err)
		}
	}
}

var (
	engineLine = regexp.MustCompile(`batch (attach|chat|serve|images|clean|doctor|dataset fill)\b|--by tests`)
	planned    = regexp.MustCompile(`batch (run|sweep|resume|retry|grade)\b`)
	talking    = regexp.MustCompile(`batch (chat|attach)\b`)
	serving    = regexp.MustCompile(`batch (serve|stub|view)\b`)
	engineless = regexp.MustCompile(` --from-logs\b|run .*--dry-run`)
)

// runnable is a shown line as a test can run it.
func runnable(t *testing.T, line string) string {
	t.Helper()
	text := filled.Replace(line)
	switch {
	case engineless.MatchString(text):
	case planned.MatchString(text):
		if strings.Contains(text, " --json") {
			t.Skip("a plan is not JSON")
		}
		return planned.ReplaceAllString(text, "$0 --dry-run")
	case engineLine.MatchString(text):
		e2e.NeedDocker(t)
	}
	if strings.Contains(text, "| jq ") {
		if _, err := exec.LookPath("jq"); err != nil {
			t.Skip("jq is not installed")
		}
	}
	if strings.Contains(text, "~/src/shop") {
		text = "batch dataset init example && mkdir src && mv example/repo src/shop && " + text
	}
	if serving.MatchString(text) && !strings.Contains(text, "--export") { // interrupted once it serves
		if !strings.Contains(text, "--listen") { // another line may serve at the same time
			text = serving.ReplaceAllString(text, "$0 --listen 127.0.0.1:0")
		}
		return fmt.Sprintf("set -m; %s >said & until grep -qE '^(contexts |batch run |https?://)' said; do kill -0 $! || break; sleep 0.05; done; kill -INT $!; wait $!", text)
	}
	return talking.ReplaceAllString(text, "$0 --no-tty")
}
