package llmtest_test

import (
	"regexp"
	"testing"

	"batch.example/batch/llm/llmtest"
)

func TestAnInstanceIsFoundByTheFirstGroup(t *testing.T) {
	for expr, want := range map[string]string{
		`a__b-\d+`:                "a__b-17",
		`instance (\S+)`:          "a__b-17",
		`instance (\S+) of (\S+)`: "a__b-17",
		`instance ((\w+)-(\d+))`:  "a__b-17",
		`instance (x)?(\S+)`:      "",
		`nothing (\S+)`:           "",
	} {
		got := "none asked"
		script := llmtest.Script{ID: regexp.MustCompile(expr)}
		s := llmtest.NewServerFunc(t, func(_ int, r *llmtest.Request) llmtest.Answer {
			got = script.Instance(r)
			return llmtest.Text("ok")
		})
		ask(t, s, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"fix instance a__b-17 of lite"}]}`)
		if got != want {
			t.Errorf("%s finds %q, want %q", expr, got, want)
		}
	}
}
