package stub_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"batch.example/batch/llm/stub"
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
		script := stub.Script{ID: regexp.MustCompile(expr)}
		s := stub.NewServerFunc(t, func(_ int, r *stub.Request) stub.Answer {
			got = script.Instance(r)
			return stub.Text("ok")
		})
		const body = `{"model":"m","messages":[{"role":"user","content":"fix instance a__b-17 of lite"}]}`
		answer, err := http.Post(s.URL+"/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if got != want {
			t.Errorf("%s finds %q, want %q", expr, got, want)
		}
	}
}
