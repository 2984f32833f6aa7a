package config

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"batch.example/batch/llm"
)

var update = flag.Bool("update", false, "write the golden files")

// presets are the built-in configurations with a program, by name.
func presets(t *testing.T) map[string]*Config {
	t.Helper()
	all := map[string]*Config{}
	for _, name := range builtins {
		c, err := Load([]string{name}, Options{})
		switch {
		case err != nil && strings.Contains(err.Error(), "built-in "+name) && strings.Contains(err.Error(), "agent.program.wire is"):
			llm.Wires = append(llm.Wires, wireOf(t, name)) // it is read as if its protocol were served
			t.Cleanup(func() { llm.Wires = llm.Wires[:len(llm.Wires)-1] })
			if c, err = Load([]string{name}, Options{}); err != nil {
				t.Fatal(err)
			}
		case err != nil:
			t.Fatal(err)
		}
		if len(c.Agent.Program.Command) > 0 {
			all[name] = c
		}
	}
	return all
}

func wireOf(t *testing.T, name string) string {
	t.Helper()
	text, err := Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(text, "\n    wire: ")
	wire, _, _ := strings.Cut(after, "\n")
	return wire
}

// recorder stands for the programs: it writes what it was started with. An argument or a file that is long
// is a line of its own.
const recorder = `#!/bin/bash
{
echo "started as ${0##*/}"
for a in "$@"; do printf 'argument %s\n' "$a"; done
export LC_ALL=C
env -0 | sort -z | grep -zv '^\(PATH\|PWD\|SHLVL\|_\|OLDPWD\|LC_ALL\|BATCH_SETTINGS\)=' | tr '\0' '\n'
echo "PATH adds ${PATH##*OWN}"
cd && find . -type f ! -name .said | sort | while read -r f; do echo "file $f"; cat "$f"; echo; done
echo standard input
cat
} > $HOME/.said
exit 7
`

// What each preset starts, in a shell as in a container: arguments, variables, files and standard input. Task
// and model have what a shell or a file's format would read in its own way.
func TestPresetsStartTheirPrograms(t *testing.T) {
	const task = "Fix `this` \"now\": $HOME's {{ x }} -- \\n\n\nand that"
	for name, c := range presets(t) {
		for at, vars := range map[string]map[string]any{"": {}, "files": {"files": "/opt/own"}} {
			t.Run(name+at, func(t *testing.T) {
				dir := t.TempDir()
				bin, home := filepath.Join(dir, "bin"), filepath.Join(dir, "home")
				for _, d := range []string{bin, home} {
					if err := os.Mkdir(d, 0o700); err != nil {
						t.Fatal(err)
					}
				}
				for _, command := range []string{"claude", "codex", "gemini", "mini", "opencode", "pi"} {
					if err := os.WriteFile(filepath.Join(bin, command), []byte(recorder), 0o700); err != nil {
						t.Fatal(err)
					}
				}
				vars["task"], vars["url"], vars["key"], vars["model"], vars["home"] = task, "http://127.0.0.1:8", "the-key", `a/"model"`, home
				l, err := c.Launch(vars)
				if err != nil {
					t.Fatal(err)
				}
				cmd := exec.CommandContext(t.Context(), l.Args[0], l.Args[1:]...)
				cmd.Env = append(l.Env, "HOME="+home, "PATH="+bin+":"+os.Getenv("PATH")+":OWN")
				cmd.Stdin, cmd.Dir = strings.NewReader(l.Stdin), dir
				out, err := cmd.CombinedOutput()
				if cmd.ProcessState.ExitCode() != 7 || len(out) > 0 {
					t.Fatalf("%v, said %q; want the program's exit code 7", err, out)
				}
				said, err := os.ReadFile(filepath.Join(home, ".said"))
				if err != nil {
					t.Fatal(err)
				}
				text := strings.ReplaceAll(string(said), home, "HOME")
				want := "\nPATH adds \n"
				if at != "" {
					want = "\nPATH adds :/opt/own/bin\n"
				}
				if !strings.Contains(text, want) {
					t.Errorf("want %q in\n%s", want, text)
				}
				if at == "" {
					golden(t, filepath.Join("testdata", "presets", name+".txt"), text)
				}
			})
		}
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != got {
		t.Errorf("%s is not current (%v): go test ./agent/config -update; got\n%s", file, err, got)
	}
}

// A preset says where its facts are from, and its prompt is one for a program with tools of its own.
func TestPresetsSayWhatTheyAre(t *testing.T) {
	all := presets(t)
	if len(all) < 6 {
		t.Errorf("%d presets", len(all))
	}
	for name, c := range all {
		text, err := Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"# Over the default: ", "# Sources: ", "2026-11-28", "downloads", "session"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q", name, want)
			}
		}
		prompt := c.Agent.InstanceTemplate
		for _, own := range []string{"COMPLETE_TASK", "bash", "timeout"} {
			if strings.Contains(prompt, own) {
				t.Errorf("the prompt of %s speaks of %s, which is batch's own", name, own)
			}
		}
		if !strings.Contains(prompt, "work tree is the result") || !strings.Contains(prompt, "{{ task }}") || len(c.Warnings) > 0 {
			t.Errorf("%s: %v, %s", name, c.Warnings, prompt)
		}
		if c.Agent.StepLimit != load(t).Agent.StepLimit || c.Agent.CostLimit != load(t).Agent.CostLimit {
			t.Errorf("%s changes limits", name)
		}
	}
}

// The key that a program is given in a template is no secret of the configuration, and what is shown of a preset
// says all that it sets.
func TestPresetsHaveNoSecrets(t *testing.T) {
	for name, c := range presets(t) {
		if secrets := c.Secrets(); len(secrets) > 0 {
			t.Errorf("%s: %v", name, secrets)
		}
		for _, v := range c.Values() {
			if v.Hidden || v.Empty == "removed" {
				t.Errorf("%s: %+v", name, v)
			}
		}
	}
	c := load(t, "claude-code", "agent.program.env.ANTHROPIC_API_KEY=sk-ant-0123456789abcdef")
	if secrets := c.Secrets(); len(secrets) == 0 || secrets[0].Value != "sk-ant-0123456789abcdef" {
		t.Errorf("a key by hand: %v", secrets)
	}
}

// A preset whose protocol is not served is refused by a word that says which ones are.
func TestAPresetWithAnotherProtocolIsRefused(t *testing.T) {
	_, err := Load([]string{"claude-code", "agent.program.wire=morse"}, Options{})
	wantError(t, err, fmt.Sprintf("-c agent.program.wire=morse: agent.program.wire is %q, expected %s", "morse", oneOf(llm.Wires)))
	for name := range presets(t) {
		if !slices.Contains([]string{"messages", "chat", "responses", "gemini"}, cmp.Or(wireOf(t, name), "none")) {
			t.Errorf("%s speaks %q", name, wireOf(t, name))
		}
	}
}
