package yamlpos

import (
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// Each mistake stands at the X, which is cut out.
func TestMistakes(t *testing.T) {
	for source, want := range map[string]string{
		"agent:\n  step_limit: 5\n   cost_limitX: 3\n": "':' is not expected here: check the indentation",
		"a: éX: c: d\n":                       "",
		"a: bX: c\n":                          "':' is not expected here",
		"agent:\nX\tstep_limit: 5\n":          "a tab is not expected here: indent with spaces",
		"agent:\n  a: 1\nX- b\nc: 2\n":        "expected a key",
		"agent:\n  a: 1\n Xb: 2\nc: 3\n":      "expected a key",
		"agent:\n  - a\n  bX: c\n":            "expected '-'",
		"agent:\n  a: 'it'Xs'\nb: 2\n":        "expected a key: check the indentation and the quotes",
		"a:\n  b: X\"c\nd: 1\n":               "the quote is not closed",
		"a: \"b\n  c\"\nd: X'e\nf: 1\n":       "the quote is not closed",
		"a:\n  b: X@c\nd: 1\n":                "text that begins with @ must be quoted",
		"a:\n  b: X%c\nd: 1\n":                "text that begins with % must be quoted",
		"a:\n  b: X*cde\nf: 1\n":              "there is no anchor of this name",
		"a:\n  b: \"cX\\qd\"\ne: 1\n":         "unknown escape sequence in double quotes",
		"a:\n  b: |\n  Xc\nd: 1\n":            "expected ':' after a key",
		"a:\n  bc: {\n  d: 1,\n  e: Xf: g\n}": "expected ',' or '}'",
		"a: 1\nb: X}\n":                       "expected a value",
		"a: b - cX: [1, 2\nd: 1\n":            "",
		"a: 1\nb: X\x01\n":                    "control characters are not allowed",
		"a: 1\nb: X\xff\n":                    "this is not valid UTF-8",
		"a: X- b\n":                           "",
	} {
		t.Run(source, func(t *testing.T) {
			at := strings.Index(source, "X")
			text := strings.Replace(source, "X", "", 1)
			var doc yaml.Node
			err := yaml.NewDecoder(strings.NewReader(text)).Decode(&doc)
			if err == nil {
				t.Fatal("no mistake")
			}
			line, column, words := Mistake(text, err)
			begin := source[:at][strings.LastIndexByte(source[:at], '\n')+1:]
			place := fmt.Sprintf("%d:%d", 1+strings.Count(source[:at], "\n"), 1+len([]rune(begin)))
			if got := fmt.Sprintf("%d:%d", line, column); got != place || !strings.HasPrefix(words, want) {
				t.Errorf("%s: %s, want %s: %s (%v)", got, words, place, want, err)
			}
		})
	}
}

func FuzzMistake(f *testing.F) {
	for _, source := range []string{"", "# only a comment\n", "...\n", "%YAML 1.2\n", "a: b: c\n", "é\xff", "*"} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		var doc yaml.Node
		err := yaml.NewDecoder(strings.NewReader(source)).Decode(&doc)
		if err == nil {
			return
		}
		if line, column, words := Mistake(source, err); line < 0 || column < 0 || words == "" {
			t.Errorf("%d:%d: %q, want a place and words (%v)", line, column, words, err)
		}
	})
}
