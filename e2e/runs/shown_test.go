package runs

import (
	"cmp"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
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

// notRun has the lines that write into folders of other programs, are for another shell than bash, or
// continue after the test.
var notRun = regexp.MustCompile(`completion .*[|>]|^source |--detach`)

// codes are the exit codes of shown lines that do not end with 0.
var codes = map[string]int{
	// What a gate asks for does not hold for the folder's runs.
	"batch compare runs/new --gate 'resolved >= 60%'":                       e2e.ExitGate,
	"batch compare runs/base runs/new --gate 'resolved >= -1pt' --markdown": e2e.ExitGate,
	// The image has no such program.
	"batch doctor --agent claude-code":                   e2e.ExitFailed,
	"batch doctor --agent my-agent.yaml --image me/repo": e2e.ExitFailed,
	// A conversation that ends without a word has no result.
	"batch chat --image me/repo -m openai/gpt-5 --whitelist 'ls|cat|git diff'": e2e.ExitIncomplete,
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
	"rows.parquet", "rows.jsonl", "runs/fill/rows.jsonl", "rows.jsonl", "my-dataset/rows.jsonl -c my-dataset/", "rows.jsonl -c ", "...", "--subset demo -m openai/gpt-5",
	"--subset verified", "--subset demo", "--subset lite", "--subset demo", "--subset multimodal", "--subset demo", "run -c swebench", "run --subset demo -c swebench", "django__django-11019", "demo__slug-1", "sympy__sympy-20590", "demo__winini-2", "psf__requests-1142", "demo__retry-10",
	"django__", "demo__", "--entry gpt-5", "--entry demo", "sweep --by majority", "sweep --entry demo --by majority", "TimeExceeded", "LimitsExceeded", "| git apply", "| git apply --stat",
	"INSTANCE", "demo__slug-1", "DIR", "runs/gpt-5", "MODEL", "openai/gpt-5", "python:3.13", demoImage, "me/repo", demoImage, "IMAGE", demoImage,
	"0.0.0.0:8443", "0.0.0.0:0", ":4200", ":0", "HOST:8443", "localhost", "--repeat 5", "--repeat 2 --slice :1",
)

// shownFiles are the files that shown lines name, apart from runs.
func shownFiles(t *testing.T) map[string]string {
	t.Helper()
	rows, err := e2e.Batch(t, t.TempDir(), "dataset", "--subset", "demo", "demo__slug-1", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	const prices = `{"gpt-5": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1.25e-06, "cache_read_input_token_cost": 1.25e-07, "output_cost_per_token": 1e-05}}`
	files := map[string]string{
		"my-agent.yaml": "agent: {program: {command: [my-agent], wire: messages}}",
		"rows.jsonl":    string(rows), "config.yaml": "{}", "my.yaml": "{}", "swebench.yaml": "{}", "replies.yaml": `"*": [one]`,
		"sweep.yaml":  "subset: demo\nslice: \":1\"\nmodels: [openai/gpt-5]\noutput: runs/swept\n",
		"preds.json":  `{"demo__slug-1": {"model_name_or_path": "m", "instance_id": "demo__slug-1", "model_patch": ""}}`,
		"prices.json": prices, "model_prices_and_context_window.json": prices,
		"choose.py": "#!/bin/sh\necho 1\n",
		"mm/tasks/demo__slug-1/problem_assets/1-a.png": "a picture",
		"path/to/tasks/hello/task.toml":                "[environment]\nnetwork_mode = \"no-network\"\n", "path/to/tasks/hello/instruction.md": "Say hello.",
		"path/to/tasks/hello/environment/Dockerfile": "FROM batch-demo/base\n", "path/to/tasks/hello/tests/test.sh": "#!/bin/bash\n", "path/to/tasks/hello/solution/solve.sh": "#!/bin/bash\n",
		"check/quarantine.txt": "demo__winini-2\n", "tokens": "alice: 0123456789abcdef\n",
		"logs/run_evaluation/demo__slug-1/test_output.txt": "+ : '>>>>> Start Test Output'\nFAILED t\n+ : '>>>>> End Test Output'\n",
	}
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	pair := s.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	files["cert.pem"] = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}))
	files["key.pem"] = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	return files
}

// What help, README.md, docs and the README of a new dataset show can be typed as it is there.
// A line that would run agents or tests only plans it: other tests, and internal/readme, run some.
func TestEveryShownCommandLineWorks(t *testing.T) {
	tier.Rest(t, "docs", "cmd/batch", "README.md")
	t.Parallel()
	lines, files := shownLines(t), shownFiles(t)
	served := t.TempDir()
	e2e.WriteFiles(t, served, files)
	swept := filepath.Join(t.TempDir(), "swept")
	e2e.DemoRun(t, swept)
	for line := range codes {
		if !slices.Contains(lines, line) {
			t.Errorf("not shown any more: %s", line)
		}
	}
	stub := startStub(t, served, "--subset", "rows.jsonl")
	t.Run("line", func(t *testing.T) {
		seen := map[string]bool{}
		for _, line := range lines {
			if seen[filled.Replace(line)] || notRun.MatchString(line) {
				continue
			}
			seen[filled.Replace(line)] = true
			t.Run(line, func(t *testing.T) {
				t.Parallel()
				text, dir := runnable(t, line), t.TempDir()
				e2e.WriteFiles(t, dir, files)
				if err := os.Chmod(filepath.Join(dir, "choose.py"), 0o700); err != nil {
					t.Fatal(err)
				}
				makeRuns(t, dir, text, swept)
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

// makeRuns makes what a line names as runs/NAME or sweeps/NAME, except what it is to write, of the
// demo's sweep.
func makeRuns(t *testing.T, dir, line, swept string) {
	t.Helper()
	if strings.Contains(line, "batch view") {
		line += " runs/any"
	}
	for _, m := range regexp.MustCompile(`(-o )?\b((?:runs|sweeps)/[\w-]+)`).FindAllStringSubmatch(line, -1) {
		path, from := filepath.Join(dir, m[2]), swept
		if _, err := os.Stat(path); m[1] != "" || err == nil {
			continue
		}
		if !strings.Contains(m[2], "sweep") {
			from = filepath.Join(swept, "demo@1")
		}
		if err := os.CopyFS(path, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
}

var (
	engineLine = regexp.MustCompile(`batch (attach|chat|serve|images|clean|doctor|dataset fill)\b`)
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
