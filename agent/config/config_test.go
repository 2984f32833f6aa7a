package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/agent"
	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
)

// peerLike uses every construct of mini-swe-agent's benchmark files.
const peerLike = `# a comment
agent:
  system_template: |
    You are — a helper.
  instance_template: |
    Do {{task}} in {{cwd}}.
  step_limit: 30
  cost_limit: 3.
  mode: confirm
  output_path: null

environment:
  cwd: "/testbed"
  timeout: 60
  interpreter: ["bash", "-c"]
  container_timeout: "7h"
  executable: "docker"
  run_args:
    - "--rm"
    - "--network"
    - "none"
    - "--cpus"
    - "20"
    - "--memory=60g"
  env:
    PAGER: cat
    PIP_PROGRESS_BAR: 'off'
    TQDM_DISABLE: '1'
    BARE: off
    NUMBER: 01
  environment_class: docker
model:
  observation_template: |
    {% if output.exception_info -%}
    <exception>{{output.exception_info}}</exception>
    {% endif -%}
    {{ output.output -}}
  action_regex: <cmd>(.*?)</cmd>
  model_name: "minimax/minimax-m2"
  model_class: openrouter
  model_kwargs:
    drop_params: true
    parallel_tool_calls: yes
    temperature: 0.5
`

func write(t *testing.T, name, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func load(t *testing.T, specs ...string) *Config {
	t.Helper()
	c, err := Load(specs, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestMiniSWEAgentFilesLoadUnchanged(t *testing.T) {
	file := write(t, "p.yaml", peerLike)
	c := load(t, file)
	if c.Agent.SystemTemplate != "You are — a helper.\n" || c.Agent.StepLimit != 30 || c.Agent.CostLimit != 3 {
		t.Errorf("agent %+v, want system template %q, step limit 30, cost limit 3", c.Agent, "You are — a helper.\n")
	}
	wantEnv := map[string]string{"PAGER": "cat", "PIP_PROGRESS_BAR": "off", "TQDM_DISABLE": "1", "BARE": "off", "NUMBER": "01"}
	for name, want := range wantEnv {
		if got := c.Environment.Env[name]; got != want {
			t.Errorf("env %s = %q, want %q", name, got, want)
		}
	}
	if c.Environment.Env["BASH_ENV"] != "/root/.bashrc" {
		t.Error("environment.env lost the default of BASH_ENV")
	}
	if f := c.Environment.Flags(); f.Network != "none" || f.CPUs != 20 || f.Memory != 60<<30 {
		t.Errorf("flags %+v, want network %q, cpus 20, memory %v", f, "none", 60<<30)
	}
	if c.Environment.Lifetime() != 7*time.Hour || c.Environment.CommandTimeout() != time.Minute {
		t.Errorf("times %v %v; want lifetime %v, command timeout %v",
			c.Environment.Lifetime(), c.Environment.CommandTimeout(), 7*time.Hour, time.Minute)
	}
	want := map[string]any{"drop_params": true, "parallel_tool_calls": true, "temperature": 0.5}
	if d := cmp.Diff(want, c.Model.ModelKwargs); d != "" {
		t.Errorf("model kwargs (-want +got):\n%s", d)
	}
	if len(c.Warnings) != 2 || !strings.Contains(c.Warnings[0], "p.yaml:9: agent.mode") || !strings.Contains(c.Warnings[1], "p.yaml:40: model.model_class") {
		t.Errorf("warnings %q, want 2 warnings, %q in the first warning, %q in the second warning",
			c.Warnings, "p.yaml:9: agent.mode", "p.yaml:40: model.model_class")
	}
	if got := c.Origin("model.action_regex"); got != file+":38" {
		t.Errorf("origin %q, want %v", got, file+":38")
	}
	if f := c.ActionForm(); f.Kind != agent.Text || f.Regex != "<cmd>(.*?)</cmd>" {
		t.Errorf("form %+v, want kind %v, regex %q", f, agent.Text, "<cmd>(.*?)</cmd>")
	}
}

func TestKeyValues(t *testing.T) {
	for _, c := range []struct {
		spec string
		want any
	}{
		{"k=value", "value"},
		{`k="value"`, "value"},
		{"k=42", 42},
		{"k=-3.14", -3.14},
		{"k=1e3", 1000.0},
		{"k=1.", "1."},
		{"k=True", "True"},
		{"k=true", true},
		{"k=null", nil},
		{"k=01", "01"},
		{"k=", ""},
		{"k=b=c", "b=c"},
		{"k=[1", "[1"},
		{`k=["a",1]`, []any{"a", 1}},
		{`k={"a":{"b":1}}`, map[string]any{"a": map[string]any{"b": 1}}},
	} {
		t.Run(c.spec, func(t *testing.T) {
			v, _, err := readSpec("model.model_kwargs."+c.spec, Options{})
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]any{"model": map[string]any{"model_kwargs": map[string]any{"k": c.want}}}
			if d := cmp.Diff(want, v.plain()); d != "" {
				t.Errorf("plain (-want +got):\n%s", d)
			}
		})
	}
	for _, spec := range []string{"=value", "model..name=value", "model.=value"} {
		t.Run(spec+" has an empty key", func(t *testing.T) {
			if _, err := Load([]string{spec}, Options{}); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "the key is empty") {
				t.Errorf("error %v, want a Usage fault with %q", err, "the key is empty")
			}
		})
	}
}

func TestMerging(t *testing.T) {
	c := load(t, "agent.step_limit=5", "environment.env.A=1", "environment.env.PAGER=null", "agent.cost_limit=0",
		"model.model_kwargs.a.b=1", `model.model_kwargs={"a":{"c":2}}`, "environment.run_args=[]", "agent.step_limit=7")
	if c.Agent.StepLimit != 7 || c.Agent.CostLimit != 0 {
		t.Errorf("limits %d and %v; want step limit 7, cost limit 0", c.Agent.StepLimit, c.Agent.CostLimit)
	}
	if _, ok := c.Environment.Env["PAGER"]; ok || c.Environment.Env["A"] != "1" || c.Environment.Env["LESS"] != "-R" {
		t.Errorf("env %v, want no PAGER, A %q, LESS %q", c.Environment.Env, "1", "-R")
	}
	want := map[string]any{"a": map[string]any{"b": 1, "c": 2}}
	if d := cmp.Diff(want, c.Model.ModelKwargs); d != "" {
		t.Errorf("model kwargs (-want +got):\n%s", d)
	}
	if got := c.Origin("agent.step_limit"); got != "-c agent.step_limit=7" {
		t.Errorf("origin %q, want %q", got, "-c agent.step_limit=7")
	}
}

// As in PyYAML, own keys are used before merged ones wherever they are; the first
// mapping of a list is used before the others, and the last of several merge keys.
func TestMergeKeys(t *testing.T) {
	const bases = "x: &one {step_limit: 1, cost_limit: 1, wall_time_limit_seconds: 1}\n" +
		"y: &two {step_limit: 2, cost_limit: 2, max_consecutive_format_errors: 2}\n"
	for _, c := range []struct{ name, agent, want string }{
		{"merged keys are there", "{<<: *one}", "1 1 1 3"},
		{"own keys behind win", "{<<: *one, step_limit: 7}", "7 1 1 3"},
		{"own keys before win", "{step_limit: 7, <<: *one}", "7 1 1 3"},
		{"own keys of no value win", "{<<: *one, step_limit: null}", "0 1 1 3"},
		{"the first of a list wins", "{<<: [*one, *two]}", "1 1 1 2"},
		{"own keys beat a list", "{cost_limit: 7, <<: [*two, *one]}", "2 7 1 2"},
		{"the last of several wins", "{<<: *one, <<: *two}", "2 2 1 2"},
		{"what is merged may merge itself", "{<<: {<<: *one, step_limit: 4}, cost_limit: 5}", "4 5 1 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := parseYAML("f", []byte(bases+"agent: "+c.agent+"\n"), inFile)
			if err != nil {
				t.Fatal(err)
			}
			top := v.v.(map[string]*value)
			delete(top, "x")
			delete(top, "y")
			base, err := readBuiltin("default")
			if err != nil {
				t.Fatal(err)
			}
			got := &Config{}
			d := decoder{places: map[string]place{}, mappings: map[string]*value{}}
			d.section("", merge(base, v, 0), got.keys())
			a := got.Agent
			if text := fmt.Sprint(a.StepLimit, a.CostLimit, a.WallTimeLimitSeconds, a.MaxConsecutiveFormatErrors); text != c.want || len(d.found) > 0 {
				t.Errorf("%s, want %s; %d problems", text, c.want, len(d.found))
			}
		})
	}
}

// Each line below the name of a section may be a comment.
func TestAnEmptySectionChangesNothing(t *testing.T) {
	load := func(texts ...string) *Config {
		t.Helper()
		var paths []string
		for _, text := range texts {
			paths = append(paths, filepath.Join(t.TempDir(), "f.yaml"))
			if err := os.WriteFile(paths[len(paths)-1], []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c, err := Load(paths, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	plain := load("run: {}\n")
	for _, text := range []string{
		"agent:\n", "environment:\n  env:\n  # A: b\n", "environment:\n  forward_env:\n  # - A\n", "model:\n", "model:\n  model_kwargs:\n", "run:\n",
		"agent:\n  system_template:\n", "environment:\n  interpreter:\n", "environment: {image: }\n",
	} {
		c := load(text)
		if diff := cmp.Diff(values(plain), values(c)); diff != "" {
			t.Errorf("%q:\n%s", text, diff)
		}
	}
	if c := load("environment:\n  env:\n    PAGER:\n    MANPAGER: null\n"); c.Environment.Env["PAGER"]+c.Environment.Env["MANPAGER"] != "" || c.Environment.Env["BASH_ENV"] == "" {
		t.Errorf("null removes one variable: %v", c.Environment.Env)
	}
	if c := load("environment:\n  env: null\n"); len(c.Environment.Env) > 0 {
		t.Errorf("a null that is written removes all: %v", c.Environment.Env)
	}
	for _, key := range []string{"memory", "disk", "container_timeout"} {
		first, second := filepath.Join(t.TempDir(), "a.yaml"), filepath.Join(t.TempDir(), "b.yaml")
		for path, value := range map[string]string{first: "1000000000", second: "# 1"} {
			if err := os.WriteFile(path, []byte("environment:\n  "+key+": "+value+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Load([]string{first, second}, Options{}); err == nil || !strings.Contains(err.Error(), "b.yaml:2: environment."+key+" is empty") {
			t.Errorf("an empty limit: %v", err)
		}
	}
	const set = `
agent: {mcp_servers: {a: {command: [x], env: {B: c}, tools: [d]}, e: {command: [y], tools: [z]}}}
model: {model_kwargs: {extra_body: {f: g}}}
`
	full := load(set)
	for _, text := range []string{
		"agent:\n  mcp_servers:\n    e:\n    # command: [z]\n", "agent:\n  mcp_servers:\n    a:\n      env:\n", "agent:\n  mcp_servers:\n    a:\n      tools:\n",
		"model:\n  model_kwargs:\n    extra_body:\n",
	} {
		c := load(set, text)
		if diff := cmp.Diff(values(full), values(c)); diff != "" {
			t.Errorf("%q:\n%s", text, diff)
		}
	}
}

func values(c *Config) map[string]any {
	all := map[string]any{}
	for _, v := range c.Values() {
		all[v.Path] = v.Value
	}
	return all
}

func TestBadConfigurations(t *testing.T) {
	for _, c := range []struct{ name, yaml, want string }{
		{"a typing error names the nearest key", "agent:\n  step_limt: 5\n", "f.yaml:2: agent.step_limt is not a known key; did you mean agent.step_limit?"},
		{"a key in the wrong section", "model:\n  step_limit: 5\n", "f.yaml:2: model.step_limit is not a known key; did you mean agent.step_limit?"},
		{"an unknown section", "agnet: {}\n", "f.yaml:1: agnet is not a known key; did you mean agent?"},
		{"a key far from all others", "run:\n  zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz: 1\n", "zzz is not a known key"},
		{"text for a number", "agent:\n  step_limit: many\n", `f.yaml:2: agent.step_limit is "many", expected a whole number`},
		{"a fraction for a count", "agent: {step_limit: 1.5}\n", "is 1.5, expected a whole number"},
		{"a list for text", "agent:\n\n  system_template: [a]\n", "f.yaml:3: agent.system_template is a list, expected text"},
		{"text for a section", "agent: x\n", `agent is "x", expected keys and values`},
		{"a mapping in a list", "environment: {run_args: [{a: 1}]}\n", "holds a mapping, expected text"},
		{"an empty limit", "agent:\n  cost_limit:\n  # 3\n", "f.yaml:2: agent.cost_limit is empty, expected a number"},
		{"an empty size of an engine", "environment:\n  engines:\n  - address: docker\n    memory:\n", "f.yaml:4: environment.engines.1.memory is empty, expected a number"},
		{"a negative limit", "agent: {cost_limit: -1}\n", "agent.cost_limit is negative"},
		{"a negative number of errors", "agent: {model_errors: -1}\n", "agent.model_errors is negative"},
		{"an end without calls of a form in text", "agent:\n  finish_without_calls: true\nmodel: {action_form: text}\n", "f.yaml:2: agent.finish_without_calls needs an action form with tools"},
		{"questions of a form in text", "agent:\n  ask: true\nmodel: {model_class: litellm_textbased}\n", "f.yaml:2: agent.ask needs an action form with tools"},
		{"a foreign environment", "environment: {environment_class: swerex_modal, startup_timeout: 1}\n", "environment_class swerex_modal is not supported"},
		{"an unknown container flag", "environment: {run_args: [--gpus, all]}\n", "--gpus, which batch does not know"},
		{"a mount", "environment: {run_args: [-v, '/:/host']}\n", "read only"},
		{"a flag without its value", "environment: {run_args: [--memory]}\n", "needs a value"},
		{"half a platform", "environment: {run_args: [--platform, arm64]}\n", "such as linux/amd64"},
		{"memory that is none", "environment: {run_args: [--memory=lots]}\n", `--memory "lots"`},
		{"a disk that is none", "environment: {disk: lots}\n", `environment.disk is "lots", expected a size`},
		{"a time that is none", "environment: {container_timeout: soon}\n", `is "soon", expected a time`},
		{"an unknown shell", "environment: {shell: zsh}\n", `shell is "zsh", expected warm or fresh`},
		{"an unknown action form", "model: {action_form: xml}\n", `action_form is "xml", expected auto`},
		{"a template with an error", "agent:\n  instance_template: |\n    {% if %}\n", "instance_template"},
		{"a regular expression with an error", "model: {action_regex: '('}\n", "action_regex"},
		{"a startup command with an error", "run: {env_startup_command: '{{ }'}\n", "env_startup_command"},
		{"a key given twice", "agent:\n  step_limit: 1\n  step_limit: 2\n", "f.yaml:3: the key step_limit is given twice"},
		{"a broken file", "agent:\n  env: [\n", "f.yaml:2:8: expected a value"},
		{"a tag that is not its value's", "agent:\n  step_limit: !!int x\n", "f.yaml:2: the value is not of the type that its tag !!int names"},
		{"an empty file", "\n", "the file is empty"},
		{"a file of comments", "# agent:\n", "the file is empty"},
		{"an empty document", "---\n", "expected keys like agent"},
		{"a version alone", "%YAML 1.1\n", "f.yaml:1:9: expected the end of the file"},
		{"a list at the top", "- a\n", "expected keys like agent"},
		{"a merge of no mapping", "agent:\n  <<: 5\n", "f.yaml:2: << needs a mapping or a list of them"},
		{"a merge of a list with no mapping", "agent:\n  <<: [{step_limit: 1}, x]\n", "f.yaml:2: << needs a mapping or a list of them"},
		{"a circle of aliases", "agent: &a\n  env: *a\n", "f.yaml"},
		{"aliases that multiply", laughs(), "too large"},
		{"one image for all instances", "environment:\n  image: python:3.12\n", `f.yaml:2: environment.image is "python:3.12", but every instance runs in its own image`},
		{"a path that is not absolute", "environment: {cwd: testbed}\n", "expected an absolute path"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load([]string{write(t, "f.yaml", c.yaml)}, Options{})
			if err == nil || fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v\nwant %s", err, c.want)
			}
		})
	}
	t.Run("all mistakes are reported at once", func(t *testing.T) {
		_, err := Load([]string{"agent.step_limt=1", "agent.cost_limit=x"}, Options{})
		if err == nil || !strings.Contains(err.Error(), "step_limt") || !strings.Contains(err.Error(), "cost_limit=x") {
			t.Errorf("error %v, want an error with %q, with %q", err, "step_limt", "cost_limit=x")
		}
	})
}

// laughs is a small file that expands to many values through aliases.
func laughs() string {
	s := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		s += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	return s
}

func TestFindingFiles(t *testing.T) {
	dir := t.TempDir()
	for name, limit := range map[string]string{"mine.yaml": "9", "swebench.yaml": "8", "odd.conf": "7"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("agent: {step_limit: "+limit+"}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "swebench"), 0o700); err != nil {
		t.Fatal(err)
	}
	opts := Options{Dirs: []string{t.TempDir(), dir}}
	for spec, want := range map[string]int{
		"mine": 9, "mine.yaml": 9, "mine.yml": 9, filepath.Join(dir, "mine"): 9, "odd.conf": 7,
		"swebench": 8, "swebench.yaml": 8, "text": 250, "tools": 250, "default": 250,
	} {
		c, err := Load([]string{spec}, opts)
		if err != nil || c.Agent.StepLimit != want || len(c.Warnings) > 0 {
			t.Errorf("%s: %v, %+v, want step limit %d", spec, err, c, want)
		}
	}
	from := Options{Dir: dir}
	for _, spec := range []string{"mine", filepath.Join(dir, "a=b.yaml")} {
		if err := os.WriteFile(filepath.Join(dir, "a=b.yaml"), []byte("agent: {step_limit: 9}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if c, err := Load([]string{spec}, from); err != nil || c.Agent.StepLimit != 9 {
			t.Errorf("%s: %v, %+v, want step limit 9", spec, err, c)
		}
	}
	if _, err := Load([]string{"gone"}, from); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "no such file in "+dir) {
		t.Errorf("got %v, want where it was looked for", err)
	}
	for spec, want := range map[string]string{
		"":                               "the name is empty",
		"gone.yaml":                      "gone.yaml: no such file in the current directory or " + opts.Dirs[0] + " or " + dir,
		filepath.Join(dir, "gone"):       filepath.Join(dir, "gone") + ": no such file",
		dir:                              dir + " is a directory",
		"swebench_xml":                   "no such file",
		"text.yaml":                      "no such file",
		"./default":                      "no such file",
		filepath.Join(dir, "tools.yaml"): "no such file",
		filepath.Join(dir, "mine.yaml", "default.yaml"): "not a directory",
	} {
		if _, err := Load([]string{spec}, opts); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %s", spec, err, want)
		}
	}
}

func TestPromptsNamesTheirSources(t *testing.T) {
	file := write(t, "p.yaml", peerLike)
	for _, c := range []struct {
		specs []string
		want  string
	}{
		{nil, "batch's built-in default"},
		{[]string{"agent.step_limit=5"}, "batch's built-in default"},
		{
			[]string{"text"},
			"batch's built-in text (system_template, instance_template, format_error_template), batch's built-in default (observation_template)",
		},
		{
			[]string{file},
			file + " (system_template, instance_template, observation_template), batch's built-in default (format_error_template)",
		},
		{[]string{file, `model={"format_error_template":"{{ error }} with model.model_kwargs"}`}, file +
			" (system_template, instance_template, observation_template), -c model=... (format_error_template)"},
		{
			[]string{"agent.system_template=a", "agent.instance_template=b", "agent.action_observation_template=c", "agent.format_error_template=d"},
			"-c agent.system_template=... (system_template), -c agent.instance_template=... (instance_template), " +
				"-c agent.action_observation_template=... (observation_template), -c agent.format_error_template=... (format_error_template)",
		},
	} {
		if got := load(t, c.specs...).Prompts(); got != c.want {
			t.Errorf("%v: %s\nwant %s", c.specs, got, c.want)
		}
	}
}

func TestGivenReportsWhatTheUserSet(t *testing.T) {
	file := write(t, "p.yaml", peerLike)
	for _, c := range []struct {
		specs []string
		want  bool
	}{
		{nil, false},
		{[]string{file}, false},
		{[]string{"agent.cost_limit=3"}, true},
		{[]string{`agent={"cost_limit":3}`}, true},
		{[]string{file, "agent.cost_limit=3"}, true},
		{[]string{"agent.cost_limit=3", file}, false},
	} {
		if got := load(t, c.specs...).Given("agent.cost_limit"); got != c.want {
			t.Errorf("%v: got %v, want %v", c.specs, got, c.want)
		}
	}
}

func TestActionForms(t *testing.T) {
	for _, c := range []struct {
		specs []string
		kind  agent.FormKind
		regex string
	}{
		{nil, agent.ToolCall, ""},
		{[]string{"text"}, agent.Text, ""},
		{[]string{"tools"}, agent.Tools, ""},
		{[]string{"model.model_class=litellm_textbased"}, agent.Text, ""},
		{[]string{"model.action_regex=<a>(.*?)</a>"}, agent.Text, "<a>(.*?)</a>"},
		{[]string{"agent.system_template=Use ```mswea_bash_command"}, agent.Text, ""},
		{[]string{"text", "model.action_form=toolcall"}, agent.ToolCall, ""},
		{[]string{"agent.action_regex=x(.)", "agent.action_observation_template={{output.output}}"}, agent.Text, "x(.)"},
		{[]string{"agent.action_observation_template={{output.output}}", "agent.timeout_template=x"}, agent.Text, agent.OldRegex},
	} {
		t.Run(strings.Join(c.specs, " "), func(t *testing.T) {
			if got := load(t, c.specs...).ActionForm(); got.Kind != c.kind || got.Regex != c.regex {
				t.Errorf("got %v %q; want kind %v, regex %v", got.Kind, got.Regex, c.kind, c.regex)
			}
		})
	}
	t.Run("questions and ends without calls", func(t *testing.T) {
		for _, form := range []string{"toolcall", "tools"} {
			c := load(t, "model.action_form="+form, "agent.ask=true", "agent.finish_without_calls=true", "agent.model_errors=2", "model.model_kwargs.temperature=0.7").Loop()
			if !c.Actions.Ask || c.Actions.Kind.String() != form || !c.FinishWithoutCalls || c.ModelErrors != 2 {
				t.Errorf("got %+v, want form %s with all three", c, form)
			}
		}
		if c := load(t).Loop(); c.Actions.Ask || c.FinishWithoutCalls || c.ModelErrors != 0 {
			t.Errorf("got %+v, want none of them by default", c)
		}
	})
	t.Run("keys of the first version move", func(t *testing.T) {
		c := load(t, "agent.action_observation_template=OBS", "agent.format_error_template=BAD")
		if c.Model.ObservationTemplate != "OBS" || c.Model.FormatErrorTemplate != "BAD" {
			t.Errorf("got %+v, want observation template %q, format error template %q", c.Model, "OBS", "BAD")
		}
	})
}

func TestResolved(t *testing.T) {
	c := load(t, `model.model_kwargs={"api_key":"S3CRET","max_tokens":5,"extra_headers":{"Authorization":"S3CRET","Cookie":"S3CRET"},"api_base":"https://me:S3CRET@h/v1"}`,
		"environment.env.HTTPS_PROXY=http://me:S3CRET@proxy:8080",
		"environment.env.HF_TOKEN=S3CRET", `environment.run_args=["-e","GH_TOKEN=S3CRET","-e","http_proxy=http://me:S3CRET@proxy",
			"--env","A_KEY=S3CRET","--env=B_KEY=S3CRET","-e=C_KEY=S3CRET","-eD_KEY=S3CRET","-e","EMPTY_KEY=","--cpus=2","-m1g","-e=FORWARDED_KEY"]`)
	data, err := json.Marshal([]any{c.Resolved(), c.Vars()})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), "S3CRET") || !strings.Contains(string(data), `"max_tokens":5`) || !strings.Contains(string(data), `"-e","EMPTY_KEY=","--cpus=2","-m1g","-e=FORWARDED_KEY"`) {
		t.Errorf("got %s, want no %q in the data, %q in the data, %q in the data",
			data, "S3CRET", `"max_tokens":5`, `"-e","EMPTY_KEY=","--cpus=2","-m1g","-e=FORWARDED_KEY"`)
	}
	wantEnv := map[string]string{
		"GH_TOKEN": "S3CRET", "http_proxy": "http://me:S3CRET@proxy", "A_KEY": "S3CRET", "B_KEY": "S3CRET", "C_KEY": "S3CRET", "D_KEY": "S3CRET", "EMPTY_KEY": "",
	}
	flags := c.Environment.Flags()
	if diff := cmp.Diff(wantEnv, flags.Env); diff != "" || flags.CPUs != 2 || flags.Memory != 1<<30 || !slices.Equal(flags.ForwardEnv, []string{"FORWARDED_KEY"}) {
		t.Errorf("flags %+v: %s; want no difference, cpus 2, memory %v, forward env %v",
			flags, diff, 1<<30, []string{"FORWARDED_KEY"})
	}
	if c.Model.ModelKwargs["api_key"] != "S3CRET" || c.Environment.Env["HF_TOKEN"] != "S3CRET" {
		t.Error("masking changed the configuration")
	}
	if v := c.Vars(); v["timeout"] != 60 || v["step_limit"] != 250 || v["cwd"] != "/testbed" {
		t.Errorf("vars %v, want timeout 60, step_limit 250, cwd %q", v, "/testbed")
	}
}

func TestMaskSpec(t *testing.T) {
	for spec, want := range map[string]string{
		"agent.step_limit=5":                                    "agent.step_limit=5",
		"my_key.yaml":                                           "my_key.yaml",
		"model.model_kwargs.api_key=S3CRET":                     "model.model_kwargs.api_key=" + mask.Hidden,
		"--config=model.model_kwargs.api_key=S3CRET":            "--config=model.model_kwargs.api_key=" + mask.Hidden,
		"environment.env.MY_KEY=S3=CRET":                        "environment.env.MY_KEY=" + mask.Hidden,
		`model.model_kwargs={"api_key":"S3CRET"}`:               `model.model_kwargs={"api_key":"` + mask.Hidden + `"}`,
		`model.model_kwargs={"n":1.0,"a":"<&>"}`:                `model.model_kwargs={"n":1.0,"a":"<&>"}`,
		`environment.run_args=["-e","T_TOKEN=S3CRET"]`:          `environment.run_args=["-e","T_TOKEN=` + mask.Hidden + `"]`,
		`environment.run_args=["-e=T_TOKEN=S3CRET"]`:            `environment.run_args=["-e=T_TOKEN=` + mask.Hidden + `"]`,
		`environment.run_args=["-eT_TOKEN=S3=CRET"]`:            `environment.run_args=["-eT_TOKEN=` + mask.Hidden + `"]`,
		`environment.run_args=["-dieT_TOKEN=S3CRET"]`:           `environment.run_args=["-dieT_TOKEN=` + mask.Hidden + `"]`,
		`environment.run_args=["--env","T_TOKEN=S3CRET"]`:       `environment.run_args=["--env","T_TOKEN=` + mask.Hidden + `"]`,
		`-cenvironment.run_args=["--env=T_TOKEN=S3CRET"]`:       `-cenvironment.run_args=["--env=T_TOKEN=` + mask.Hidden + `"]`,
		`environment={"run_args":["-e=T_TOKEN=S3CRET"]}`:        `environment={"run_args":["-e=T_TOKEN=` + mask.Hidden + `"]}`,
		"environment.env=MY_KEY=S3CRET":                         "environment.env=MY_KEY=" + mask.Hidden,
		"environment.run_args=[-e=MY_KEY=S3CRET]":               "environment.run_args=[-e=MY_KEY=" + mask.Hidden,
		"model.model_kwargs.api_base=http://me:S3CRET@h/v1?a=b": "model.model_kwargs.api_base=http://me:" + mask.Hidden + "@h/v1?a=b",
	} {
		t.Run(spec, func(t *testing.T) {
			if got := MaskSpec(spec); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestSecretsOfAConfiguration(t *testing.T) {
	const key, other = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "f47ac10b-58cc-4372-a567-0e02b2c3d479"
	c := load(t, `model.model_kwargs={"api_key":"kwarg","extra_headers":{"X-Title":"my title","X-Id":"`+other+`","X-Auth-Token":"header"},"seed":"`+key+`"}`,
		"environment.env.POSTGRES_PASSWORD=postgres", "environment.env.SERVICE="+key, "environment.env.GREETING=hello world",
		`environment.run_args=["-e=A_KEY=arg","--env=PLAIN=`+other+`","--cap-drop=ALL"]`, "agent.system_template="+key)
	var got []string
	for _, s := range c.Secrets() {
		got = append(got, s.Name+" "+s.Value)
	}
	slices.Sort(got)
	want := []string{
		"A_KEY arg", "PLAIN " + other, "POSTGRES_PASSWORD postgres", "SERVICE " + key,
		"X-Auth-Token header", "X-Id " + other, "api_key kwarg",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}

func TestConfigurationErrorsHideSecrets(t *testing.T) {
	for _, spec := range []string{
		"environment.env=MY_KEY=S3CRET", `environment.run_args=[-e=MY_KEY=S3CRET]`, `environment.run_args=["-e","=MY_KEY=S3CRET"]`,
		`environment.run_args=["MY_KEY=S3CRET"]`, `environment.run_args=["-x=MY_KEY=S3CRET"]`, `environment.run_args=["-itMY_KEY=S3CRET"]`,
		"environment..MY_KEY=S3CRET", `model.api_key=S3CRET`,
	} {
		_, err := Load([]string{spec}, Options{})
		if fault.KindOf(err) != fault.Usage || strings.Contains(err.Error(), "S3CRET") {
			t.Errorf("%s: got %v, want a Usage fault, without %q", spec, err, "S3CRET")
		}
	}
}

func TestSleepTimes(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"2h": 2 * time.Hour, "90m": 90 * time.Minute, "30": 30 * time.Second, "1.5d": 36 * time.Hour,
		"1h 30m": 90 * time.Minute, "infinity": 0, "inf": 0, "": 0,
	} {
		if got, err := parseSleep(text); err != nil || got != want {
			t.Errorf("%q: got %v, %v; want %v, no error", text, got, err, want)
		}
	}
	for _, text := range []string{"-1", "h", "2w", "nan", "1e300d", "0"} {
		if got, err := parseSleep(text); err == nil {
			t.Errorf("%q: got %v without an error, want an error", text, got)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(peerLike)
	f.Add("a: &x {<<: *x}\n")
	f.Add("agent: !!int x\n")
	f.Fuzz(func(t *testing.T, content string) {
		v, err := parseYAML("f", []byte(content), inFile)
		if err != nil {
			return
		}
		c := &Config{places: map[string]place{}}
		if c.adopt(v) == nil {
			(&decoder{places: c.places, mappings: map[string]*value{}}).section("", v, c.keys())
			if _, err := json.Marshal(c.Resolved()); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestEngines(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`environment:
  engines:
    - ssh://a
    - {address: "tcp://b:2376", workers: 3, memory: 64g, cpus: 2.5}
`)
	c, err := Load([]string{file}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []Engine{{Address: "ssh://a"}, {Address: "tcp://b:2376", Workers: 3, Memory: "64g", CPUs: 2.5}}
	if diff := cmp.Diff(want, c.Environment.Engines); diff != "" {
		t.Errorf("engines (-want +got):\n%s", diff)
	}
	if got := c.Environment.Engines[1].Bytes(); got != 64<<30 {
		t.Errorf("memory of %d bytes, want %d", got, int64(64<<30))
	}
	plain := c.Resolved()["environment"].(map[string]any)["engines"]
	if diff := cmp.Diff([]any{"ssh://a", map[string]any{"address": "tcp://b:2376", "workers": 3, "memory": "64g", "cpus": 2.5}}, plain); diff != "" {
		t.Errorf("resolved (-want +got):\n%s", diff)
	}
	c, err = Load([]string{file}, Options{Set: []Setting{{Path: "environment.engines", Value: []any{"docker"}, Flag: "--engine"}}})
	if err != nil || !slices.Equal(Addresses(c.Environment.Engines), []string{"docker"}) {
		t.Errorf("engines %v, %v; want the flag's alone", c.Environment.Engines, err)
	}
	for text, want := range map[string]string{
		"docker":                      "expected a list of engines",
		"[ssh://a, ssh://a]":          "has ssh://a twice",
		"[{workers: 2}]":              "has no address for engine 1",
		"[{address: a, w: 2}]":        "environment.engines.1.w is not a known key",
		"[{address: a, workers: -2}]": "has engine 1 with workers that is negative",
		"[{address: a, memory: x}]":   "has engine 1 with memory that is \"x\"",
		"[3]":                         "expected keys and values",
	} {
		write("environment: {engines: " + text + "}\n")
		if _, err := Load([]string{file}, Options{}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "a.yaml:1") {
			t.Errorf("%s: got %v, want an error with %q and the place", text, err, want)
		}
	}
}
