package config

import (
	"fmt"
	"strings"
	"testing"

	"batch.example/batch/agent"
	"batch.example/batch/agent/template"
	"batch.example/batch/fault"
)

const mistaken = `# prompts
agent:
  system_template: Be brief.
  instance_template: |

    # Issue
      {{ task }} in {{ cdw }}
model:
  observation_template: >-
    The output
    is {{ output.retcode }}
    here.
  format_error_template: "{# é \u00e9 #}{{ error | uper }}"
run:
  env_startup_command: 'cd {{ repo }} && {% if x %} it''s {{ y }'
`

func TestTemplateErrorsNameThePlaceInTheFile(t *testing.T) {
	file := write(t, "my.yaml", mistaken)
	fixed := write(t, "fixed.yaml", strings.NewReplacer("uper", "upper", "{{ y }'", "{{ y }}{% endif %}'").Replace(mistaken))
	t.Run("what does not parse", func(t *testing.T) {
		_, err := Load([]string{file}, Options{})
		wantError(t, err, `model.format_error_template, `+file+`:13:52: unknown filter "uper"; did you mean upper?`)
		wantError(t, err, `run.env_startup_command, `+file+`:15:64: unexpected "}"`)
		unkept := write(t, "unkept.yaml", "agent:\n  instance_template: |\n    {{ task }}\n    {{ task | wordwrap(40) }}{{ task.titel() }}\n")
		_, err = Load([]string{unkept}, Options{})
		wantError(t, err, `agent.instance_template, `+unkept+`:4:15: unknown filter "wordwrap"; there are: count, d, default,`)
	})
	t.Run("what does not render", func(t *testing.T) {
		c := load(t, fixed)
		loop, err := agent.NewLoop(c.Loop())
		if err != nil {
			t.Fatal(err)
		}
		turn := agent.Turn{Task: "t"}
		err = loop.Check(turn)
		wantError(t, err, `agent.instance_template, `+fixed+`:7:24: unknown variable "cdw"`)
		if hint := fault.HintOf(err); hint != "did you mean cwd?" {
			t.Errorf("hint %s", hint)
		}
		command, err := c.StartupCommand()
		if err != nil {
			t.Fatal(err)
		}
		_, err = command.Render(map[string]any{"repo": "r", "x": true})
		wantError(t, err, `run.env_startup_command, `+fixed+`:15:62: unknown variable "y"`)
	})
	for spec, want := range map[string]string{
		"agent.instance_template=Fix {{ taks }}":               "-c agent.instance_template=..., column 8: unknown variable",
		"agent.instance_template=Fix\n  it: {{ taks }}":        "-c agent.instance_template=..., line 2, column 10: unknown variable",
		`agent.instance_template="Fix\n{{ taks }}"`:            "-c agent.instance_template=..., column 10: unknown variable",
		`agent={"instance_template":"{{ taks }}"}`:             "agent.instance_template, -c agent=",
		"agent.action_observation_template={{ output.output }": `model.observation_template, -c agent.action_observation_template=..., column 18: unexpected "}"`,
	} {
		t.Run(spec, func(t *testing.T) {
			c, err := Load([]string{spec}, Options{})
			if err == nil {
				loop, _ := agent.NewLoop(c.Loop())
				err = loop.CheckTask(agent.Turn{Task: "t"})
			}
			wantError(t, err, want)
		})
	}
	t.Run("of batch's own", func(t *testing.T) {
		loop, err := agent.NewLoop(load(t).Loop())
		if err != nil {
			t.Fatal(err)
		}
		if err := loop.CheckTask(agent.Turn{}); err != nil {
			t.Fatal(err)
		}
		c := load(t)
		if got := c.placeWithin("agent.instance_template")(strings.Index(c.Agent.InstanceTemplate, "task")); !strings.HasPrefix(got, "batch's built-in default:10:8") {
			t.Errorf("at %s, want beginning with %q", got, "batch's built-in default:10:8")
		}
	})
}

func TestPromptsThatDoNotShowTheTaskGetAWarning(t *testing.T) {
	for template, warned := range map[string]bool{
		"Do the task.": true,
		"{{ tasks }}":  true,
		"{{ task }}":   false,
		"{%- if 'x' in task | lower -%}{{ y }}{% endif %}": false,
	} {
		c := load(t, write(t, "my.yaml", "agent:\n  instance_template: \""+template+"\"\n"))
		if got := len(c.Warnings) == 1 && strings.Contains(c.Warnings[0], "my.yaml:2: neither"); got != warned {
			t.Errorf("%s: warnings %q, want one: %v", template, c.Warnings, warned)
		}
	}
	if c := load(t, "agent.system_template=Solve {{ task }}", "agent.instance_template=Go."); len(c.Warnings) > 0 {
		t.Errorf("warnings %q, want none where the system template shows the task", c.Warnings)
	}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if fault.KindOf(err) != fault.Usage || !strings.Contains(fmt.Sprint(err), want) {
		t.Errorf("error %v\nwant %s", err, want)
	}
}

// A template shows mini-swe-agent's values of the keys that batch does not need.
func TestATemplateShowsKeysWithoutEffect(t *testing.T) {
	file := write(t, "my.yaml", "agent:\n  output_path: out/1.json\nenvironment:\n  executable: podman\n  run_args: [--cpus, 2]\n")
	for _, c := range []struct {
		what  string
		specs []string
		want  string
	}{
		{"the defaults", nil, "None docker ['--rm']"},
		{"a file's", []string{file}, "out/1.json podman ['--cpus', '2']"},
		{"a key=value's", []string{file, "environment.run_args=[]", "environment.executable=nerdctl"}, "out/1.json nerdctl []"},
	} {
		t.Run(c.what, func(t *testing.T) {
			parsed, err := template.Parse("", "{{ output_path }} {{ executable }} {{ run_args }}", nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := parsed.Render(load(t, c.specs...).Vars()); err != nil || got != c.want {
				t.Errorf("%s, %v, want %s", got, err, c.want)
			}
		})
	}
}

// As in mini-swe-agent, a template shows the mappings of a configuration in the order of their
// files: one that is laid over another adds its new keys at the end.
func TestATemplateShowsMappingsInTheOrderOfTheirFiles(t *testing.T) {
	base := write(t, "base.yaml", "environment:\n  env: {Z: 1, B: 2, A: 3}\nmodel:\n  model_kwargs:\n    top_p: 1\n    extra: {y: 1, x: [{d: 1, c: 2}]}\n")
	over := write(t, "over.yaml", "environment:\n  env: {C: 6, <<: {M: 4, C: 5}, B: 7, API_KEY: s}\n")
	c := load(t, base, over, `model.model_kwargs={"stop":[{"b":1,"a":2}],"q":{"n":1,"k":2}}`)
	for _, once := range []string{"first", "again"} {
		for text, want := range map[string]string{
			"{{ env }}": "'BASH_ENV': '/root/.bashrc', 'Z': '1', 'B': '7', 'A': '3', 'M': '4', 'C': '6', 'API_KEY': '********'}",
			"{% for k, v in model_kwargs.items() %}{{ k }}={{ v }};{% endfor %}": "top_p=1;extra={'y': 1, 'x': [{'d': 1, 'c': 2}]};stop=[{'b': 1, 'a': 2}];q={'n': 1, 'k': 2};",
		} {
			parsed, err := template.Parse("", text, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := parsed.Render(c.Vars())
			if err != nil || !strings.HasSuffix(got, want) {
				t.Errorf("%s, %s: %s, %v\nwant %s", once, text, got, err, want)
			}
		}
	}
}

// A key that two files have is shown once, on each level.
func TestADeepMappingIsShownOnce(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 60) + "1" + strings.Repeat("}", 60)
	parsed, err := template.Parse("", "{{ model_kwargs }}", nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := parsed.Render(load(t, "model.model_kwargs="+deep, "model.model_kwargs="+deep).Vars())
	if want := strings.ReplaceAll(strings.ReplaceAll(deep, `"`, "'"), ":", ": "); err != nil || got != want {
		t.Errorf("got %s, %v", got, err)
	}
}
