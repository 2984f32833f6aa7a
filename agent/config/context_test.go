package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
)

func TestAContextPolicyIsChecked(t *testing.T) {
	for name, c := range map[string]struct {
		specs  []string
		window int64
		policy string // as it describes itself; empty for none
		err    string // of Load, or of the policy
		warns  string
	}{
		"none by default":          {nil, 100_000, "", "", ""},
		"none by name":             {[]string{"agent.context_policy=none"}, 100_000, "", "", ""},
		"90 % of the window":       {[]string{"agent.context_policy=drop"}, 200_000, "drop, over about 180000 tokens", "", ""},
		"a limit":                  {[]string{"agent.context_policy=shorten", "agent.context_limit=5000"}, 0, "shorten, over about 5000 tokens", "", ""},
		"an unknown window":        {[]string{"agent.context_policy=shorten", "model.model_name=x/y"}, 0, "", `the length of the context of model "x/y" is not known`, ""},
		"an unknown policy":        {[]string{"agent.context_policy=shortn"}, 0, "", `"shortn", expected none, shorten or drop`, ""},
		"a negative limit":         {[]string{"agent.context_limit=-1"}, 0, "", "agent.context_limit is negative", ""},
		"a summary by the model":   {[]string{"agent.context_policy=summarize"}, 0, "", "-c agent.context_policy=summarize: agent.context_policy=summarize was removed: use shorten or drop", ""},
		"how to ask for it":        {[]string{"agent.summary_template={% if"}, 0, "", "agent.summary_template was removed: the model writes no summaries", ""},
		"messages":                 {[]string{"agent.context_policy=drop", "agent.context_messages=30"}, 0, "drop, over 30 messages", "", ""},
		"messages and tokens":      {[]string{"agent.context_policy=drop", "agent.context_messages=30"}, 100_000, "drop, over 30 messages or about 90000 tokens", "", ""},
		"too few messages":         {[]string{"agent.context_policy=drop", "agent.context_messages=10"}, 0, "", "the context may have 10 messages", ""},
		"messages to shorten":      {[]string{"agent.context_policy=shorten", "agent.context_messages=30"}, 0, "", "shorten cannot limit the number", ""},
		"negative messages":        {[]string{"agent.context_messages=-1"}, 0, "", "agent.context_messages is negative", ""},
		"messages without policy":  {[]string{"agent.context_messages=30"}, 0, "", "", "agent.context_messages only warns"},
		"keep without a policy":    {[]string{"agent.context_keep=7"}, 0, "", "", "agent.context_keep has no effect"},
		"a limit without a policy": {[]string{"agent.context_limit=7"}, 0, "", "", "agent.context_limit only warns, and in a chat only, without agent.context_policy"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := Load(c.specs, Options{})
			text := ""
			if err == nil {
				p, failed := cfg.ContextPolicy(c.window)
				if err = failed; p != nil {
					text = p.String()
				}
				if got := strings.Join(cfg.Warnings, "\n"); !strings.Contains(got, c.warns) || (c.warns == "") != (got == "") {
					t.Errorf("warnings %q, want %q", got, c.warns)
				}
			}
			if text != c.policy || (err == nil) != (c.err == "") {
				t.Fatalf("got %q, %v; want %q, an error with %q", text, err, c.policy, c.err)
			}
			if err != nil && (fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("got %v, want a Usage fault with %q", err, c.err)
			}
		})
	}
}

func TestNoContextPolicyByNameIsNotAnotherSetting(t *testing.T) {
	var resolved []map[string]any
	for _, specs := range [][]string{nil, {"agent.context_policy=none"}} {
		cfg, err := Load(specs, Options{})
		if err != nil {
			t.Fatal(err)
		}
		resolved = append(resolved, cfg.Resolved())
	}
	if d := cmp.Diff(resolved[0], resolved[1]); d != "" {
		t.Errorf("settings (-default +none):\n%s", d)
	}
}

// A run of before is graded with its own configuration, whose agent does not matter then.
func TestRemovedValuesOfAnEarlierRunAreLeftOut(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.yaml")
	text := "agent:\n  step_limit: 7\n  context_policy: summarize\n  context_limit: 9000\n  summary_template: '{{ n_messages }}'\nenvironment:\n  cwd: /there\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load([]string{file}, Options{}); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "run.yaml:5: agent.summary_template was removed") {
		t.Errorf("got %v, want the place of the key", err)
	}
	cfg, err := Load([]string{file, "agent.context_policy=summarize"}, Options{Earlier: true})
	if err != nil || cfg.Environment.Cwd != "/there" || cfg.Agent.StepLimit != 7 || cfg.Agent.ContextPolicy != "" || len(cfg.Warnings) != 0 {
		t.Errorf("got %+v, %v; want the other values, and no warning", cfg, err)
	}
	if _, err := Load([]string{file, "agent.context_policy=shortn"}, Options{Earlier: true}); err == nil {
		t.Error("a value that batch never had is accepted")
	}
}
