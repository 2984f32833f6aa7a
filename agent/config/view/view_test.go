package view

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/agent/config"
)

func load(t *testing.T, specs ...string) *config.Config {
	t.Helper()
	c, err := config.Load(specs, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func write(t *testing.T, name, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// awkward has values that YAML would read as another type or text.
const awkward = `agent:
  system_template: "\n  two blanks first, a tab\t, a bell \x07, \x7f, a quote \" and trailing blanks  \n\n\n"
  instance_template: "one line with # and: colons {{ task }}"
  cost_limit: 0.1
  step_limit: 0
environment:
  env: {PAGER: null, YES: yes, NO: 'no', EMPTY: "", NUMBER: 007, MULTI: "a\nb", "a.b": c, "odd key:": "~"}
  run_args: [--cpus, "2", -e, "A=b c"]
  interpreter: []
  shell: null
  forward_env: ["ON", "1e3"]
  container_timeout: 90
model:
  model_kwargs: {temperature: 1.0, seed: 5, big: 1.0e+30, small: 1e-7, stop: ["\n", "null", null], nested: {a: {b: [true, 1.5]}}, text: "1.0", nothing: null}
  set_cache_control: null
  observation_template: "\tbegins with a tab\n{{ output.output }}"
  format_error_template: "\u00e9 \u2028 \ufeff \U0001f600\r\n{{ error }}"
run:
  env_startup_command: |
    cd /testbed &&
      true
  mask_patterns: ['corp-[0-9a-f]{32}', "\\d"]
`

func TestAWrittenConfigurationLoadsUnchanged(t *testing.T) {
	file := write(t, "awkward.yaml", awkward)
	for name, specs := range map[string][]string{
		"default":                nil,
		"text":                   {"text"},
		"tools":                  {"tools"},
		"awkward values":         {file},
		"over each other":        {file, "tools", "environment.env.LESS=null", "agent.cost_limit=3"},
		"the first version":      {"agent.action_observation_template={{output.output}}"},
		"form asked by a class":  {"model.model_class=litellm_textbased"},
		"a template that is one": {"agent.system_template=- a", "agent.instance_template=|"},
	} {
		t.Run(name, func(t *testing.T) {
			c := load(t, specs...)
			for form, write := range map[string]func(*strings.Builder) error{
				"yaml": func(b *strings.Builder) error { return YAML(b, c.Values()) },
				"json": func(b *strings.Builder) error { return JSON(b, c.Values()) },
			} {
				same(t, c, form, write)
			}
		})
	}
}

func same(t *testing.T, c *config.Config, form string, render func(*strings.Builder) error) {
	t.Helper()
	var b strings.Builder
	if err := render(&b); err != nil {
		t.Fatal(err)
	}
	back, err := config.Load([]string{write(t, "back."+form, b.String())}, config.Options{})
	if err != nil {
		t.Fatalf("%s: %v\n%s", form, err, b.String())
	}
	if d := cmp.Diff(c.Resolved(), back.Resolved()); d != "" {
		t.Errorf("%s: got %s, want no difference\n%s", form, d, b.String())
	}
	if d := cmp.Diff(c.Environment.Flags(), back.Environment.Flags()); d != "" {
		t.Errorf("%s: got %s, want no difference", form, d)
	}
	if d := cmp.Diff(c.ActionForm(), back.ActionForm()); d != "" {
		t.Errorf("%s: got %s, want no difference", form, d)
	}
	if a, b := c.Origin("model.set_cache_control") == "", back.Origin("model.set_cache_control") == ""; a != b {
		t.Errorf("%s: set_cache_control is unset: %v, was %v", form, b, a)
	}
}

func TestSecretsAreHidden(t *testing.T) {
	c := load(t, "model.model_kwargs.api_key=S3CRET", "environment.env.HF_TOKEN=S3CRET", `environment.run_args=["-e","A_KEY=S3CRET"]`)
	values := c.Values()
	var b strings.Builder
	if err := Text(&b, c, values); err != nil {
		t.Fatal(err)
	}
	if err := YAML(&b, values); err != nil {
		t.Fatal(err)
	}
	if err := JSON(&b, values); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "S3CRET") {
		t.Error(b.String())
	}
	hidden := 0
	for _, v := range values {
		if v.Hidden {
			hidden++
		}
	}
	if hidden != 3 {
		t.Errorf("%d values are hidden, want 3", hidden)
	}
}

func TestAValueStaysInItsCell(t *testing.T) {
	c := load(t, "environment.env.B=\x1b[31m\t\v\r\fx", "environment.env.A\tC=y")
	var b strings.Builder
	if err := Text(&b, c, c.Values()); err != nil {
		t.Fatal(err)
	}
	for _, cells := range []string{`environment.env.B \u001b[31m\t\v\r\fx -c on the command line`, "environment.env.A C y -c on the command line"} {
		if got := strings.Join(strings.Fields(b.String()), " "); !strings.Contains(got, cells) {
			t.Errorf("no %s in\n%s", cells, b.String())
		}
	}
}

func FuzzWrittenText(f *testing.F) {
	for _, text := range []string{"a\n", "\n a", " \n", "a\n\n\n", "\t\n", "# x\n- y", "\u0085\n", "\ufeff", "\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := config.Load([]string{"model.model_kwargs.text=" + text}, config.Options{})
		if err != nil {
			return
		}
		same(t, c, "yaml", func(b *strings.Builder) error { return YAML(b, c.Values()) })
		same(t, c, "json", func(b *strings.Builder) error { return JSON(b, c.Values()) })
	})
}
