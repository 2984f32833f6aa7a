package agent

import (
	"strings"
	"testing"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/vocab"
)

func TestCheckFindsTemplateErrorsOfAnyTurn(t *testing.T) {
	vars := map[string]any{"cwd": "/testbed"}
	for _, c := range []struct {
		name string
		set  Config // empty templates are replaced by valid ones
		turn Turn
		want string // template and name in the error; empty if no error is wanted
	}{
		{"an undefined variable of the system template", Config{SystemTemplate: "{{ nothere }}"}, Turn{}, "system_template nothere"},
		{"an undefined variable of the instance template", Config{InstanceTemplate: "a\n{{ taks }}"}, Turn{Task: "t"}, "instance_template taks"},
		{"task and the configuration's values", Config{SystemTemplate: "{{ known }}", InstanceTemplate: "{{ task }}{{ n_model_calls }}"}, Turn{Task: "t"}, ""},
		{"the environment's variables", Config{SystemTemplate: "{{ cwd }}", ObservationTemplate: "{{ cwd }}", FormatErrorTemplate: "{{ cwd }}"}, Turn{Env: &env{}}, ""},
		{"the environment's variables without one", Config{SystemTemplate: "{{ cwd }}"}, Turn{Vars: vars}, ""},
		{"neither", Config{SystemTemplate: "{{ cwd }}"}, Turn{}, "system_template cwd"},
		{"the benchmark's own templates", Config{ObservationTemplate: longObservation, FormatErrorTemplate: formatTemplate}, Turn{}, ""},
		{"none given", Config{}, Turn{}, ""},

		{"a member that outputs do not have", Config{ObservationTemplate: "{{ output.retcode }}"}, Turn{}, "observation_template retcode"},
		{"an item that only some outputs have", Config{ObservationTemplate: "{{ output.output.split()[0] }}"}, Turn{}, ""},
		{"an item that outputs do not have", Config{ObservationTemplate: "{{ [output.output][1] }}"}, Turn{}, "observation_template [1]"},
		{"of a failed command", Config{ObservationTemplate: "{% if output.returncode == 1 %}{{ nope }}{% endif %}"}, Turn{}, "observation_template nope"},
		{"of a short text that a command printed which succeeded", Config{ObservationTemplate: "{% if output.returncode == 0 and output.output and output.output | length < 100 and '\uFFFD' not in output.output %}{{ nope }}{% endif %}"}, Turn{}, "observation_template nope"},
		{"of an empty output", Config{ObservationTemplate: "{% if not output.output %}{{ nope }}{% endif %}"}, Turn{}, "observation_template nope"},
		{"of a command that was not found", Config{ObservationTemplate: "{% if output.returncode == 127 %}{{ nope }}{% endif %}"}, Turn{}, "observation_template nope"},
		{"of a command that was killed", Config{ObservationTemplate: "{% if output.returncode == 137 %}{{ nope }}{% endif %}"}, Turn{}, "observation_template nope"},
		{"of a command that crashed", Config{ObservationTemplate: "{% if output.returncode == 139 %}{{ nope }}{% endif %}"}, Turn{}, "observation_template nope"},
		{"of a command that has no exit code", Config{ObservationTemplate: "{% if output.returncode == -1 and output.output %}{{ nope }}{% endif %}"}, Turn{}, "observation_template nope"},
		{"of a failed command without output", Config{ObservationTemplate: "{% if not output.output and output.returncode > 0 %}{{ nope }}{% endif %}"}, Turn{}, "observation_template nope"},
		{"of a long output", Config{ObservationTemplate: "{% if output.output | length > 10000 %}{{ nope }}{% endif %}"}, Turn{}, "observation_template nope"},
		{"of a time-out", Config{ObservationTemplate: "{% if 'timed out' in output.exception_info %}{{ nope }}{% endif %}"}, Turn{}, "observation_template nope"},
		{"of a time-out with output", Config{ObservationTemplate: "{% if 'timed out' in output.exception_info and output.output %}{{ nope }}{% endif %}"}, Turn{}, "observation_template nope"},
		{"of a time-out with all of its output", Config{ObservationTemplate: "{% if 'timed out' in output.exception_info and output.output | length == 4 %}{{ nope }}{% endif %}"}, Turn{}, "observation_template nope"},
		{"of a time-out without output", Config{ObservationTemplate: "{% if output.exception_info and not output.output and output.returncode == -1 and 'timed' in output.exception_info %}{{ nope }}{% endif %}"}, Turn{}, "observation_template nope"},
		{"of an action that was not executed", Config{ObservationTemplate: "{% if output.exception_info == 'action was not executed' %}{{ nope }}{% endif %}"}, Turn{}, "observation_template nope"},
		{"of a refused submission", Config{ObservationTemplate: "{% if 'not accepted' in output.exception_info %}{{ nope }}{% endif %}"}, Turn{}, "observation_template nope"},
		{"of bytes that are not UTF-8", Config{ObservationTemplate: "{% if '\uFFFD' in output.output %}{{ nope }}{% endif %}"}, Turn{}, "observation_template nope"},

		{"of a format error", Config{FormatErrorTemplate: "{{ err }}"}, Turn{}, "format_error_template err"},
		{"of a reply that was cut off", Config{FormatErrorTemplate: "{% if finish_reason == 'length' %}{{ nope }}{% endif %}"}, Turn{}, "format_error_template nope"},
		{"of a reply without calls", Config{FormatErrorTemplate: "{% if not has_tool_calls %}{{ nope }}{% endif %}"}, Turn{}, "format_error_template nope"},
		{"of a bad call", Config{FormatErrorTemplate: "{% if has_tool_calls and finish_reason == 'tool_calls' %}{{ nope }}{% endif %}"}, Turn{}, "format_error_template nope"},
		{"of no action in the text", Config{Actions: ActionForm{Kind: Text}, FormatErrorTemplate: "{% if actions | length == 0 %}{{ nope }}{% endif %}"}, Turn{}, "format_error_template nope"},
		{"of two actions in the text", Config{Actions: ActionForm{Kind: Text}, FormatErrorTemplate: "{% if actions | length == 2 %}{{ actions[0] }}{{ nope }}{% endif %}"}, Turn{}, "format_error_template nope"},
		{"the actions of the other forms", Config{FormatErrorTemplate: "{{ actions[0] }}"}, Turn{}, "format_error_template actions[0]"},

		{"near the step limit", Config{Limits: vocab.Limits{Steps: 50}, ObservationTemplate: "{% if 50 - n_model_calls < 5 %}{{ nope }}{% endif %}"}, Turn{}, "observation_template nope"},
		{"near the cost limit", Config{Limits: vocab.Limits{Cost: 3}, ObservationTemplate: "{% if model_cost > 2.9 %}{{ nope }}{% endif %}"}, Turn{}, "observation_template nope"},
		{"near the time limit", Config{Limits: vocab.Limits{Time: time.Hour}, FormatErrorTemplate: "{% if elapsed_seconds > 3500 %}{{ nope }}{% endif %}"}, Turn{}, "format_error_template nope"},
		{"at the step limit", Config{Limits: vocab.Limits{Steps: 50}, ObservationTemplate: "{% if n_model_calls == 50 and model_cost >= 100 %}{{ nope }}{% endif %}"}, Turn{}, "observation_template nope"},
		{"at a step limit of one", Config{Limits: vocab.Limits{Steps: 1}, ObservationTemplate: "{% if n_model_calls == 1 and model_cost >= 100 %}{{ nope }}{% endif %}"}, Turn{}, "observation_template nope"},
		{"at the cost limit", Config{Limits: vocab.Limits{Cost: 3}, ObservationTemplate: "{% if n_model_calls == 1000 and model_cost == 3 %}{{ nope }}{% endif %}"}, Turn{}, "observation_template nope"},
		{"at a cost limit below a dollar", Config{Limits: vocab.Limits{Cost: 0.5}, ObservationTemplate: "{% if n_model_calls == 1000 and model_cost == 0.5 %}{{ nope }}{% endif %}"}, Turn{}, "observation_template nope"},
		{"at the time limit", Config{Limits: vocab.Limits{Time: time.Hour}, ObservationTemplate: "{% if n_model_calls == 1000 and elapsed_seconds >= 3600 and elapsed_seconds < 4000 %}{{ nope }}{% endif %}"}, Turn{}, "observation_template nope"},
		{"without limits", Config{ObservationTemplate: "{% if n_model_calls == 1000 and model_cost == 100 and elapsed_seconds >= 86400 and elapsed_seconds < 90000 %}{{ nope }}{% endif %}"}, Turn{}, "observation_template nope"},
		{"at the first step", Config{ObservationTemplate: "{% if n_model_calls == 1 %}{{ nope }}{% endif %}"}, Turn{}, "observation_template nope"},
		{"far from them", Config{Limits: vocab.Limits{Steps: 50, Cost: 3}, ObservationTemplate: "{% if n_model_calls < 5 and model_cost < 1 %}{{ nope }}{% endif %}"}, Turn{}, "observation_template nope"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.set.SystemTemplate == "" {
				c.set.SystemTemplate = "s"
			}
			if c.set.InstanceTemplate == "" {
				c.set.InstanceTemplate = "i"
			}
			c.set.Vars = map[string]any{"known": 1}
			l, err := NewLoop(c.set)
			if err != nil {
				t.Fatal(err)
			}
			err = l.Check(c.turn)
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			for _, word := range strings.Fields(c.want) {
				if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), word) {
					t.Errorf("error %v, want a Usage fault with %q", err, word)
				}
			}
		})
	}
}
