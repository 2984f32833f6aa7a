package search

import (
	"regexp"
	"strings"
	"testing"
)

func TestATextThatEachMatchHasIsFound(t *testing.T) {
	for expr, want := range map[string]string{
		"ne+dle": "dle", "abc": "abc", "(?i)abc": "", "a|b": "", "(abc)?d": "d", "(abc){2}d": "abc", "(abc){0,2}d": "d",
		"x*": "", "(?:ab)+[c-d]efg": "efg", "^abc$": "abc", `\bé+`: "é", "(": "",
	} {
		if got := string(requiredIn(expr)); got != want {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
	}
}

// Every match contains the required text.
func FuzzRequired(f *testing.F) {
	f.Add("ne+d(le)?|x", "needle")
	f.Add("(?i)a(bc)+", "xABCbc")
	f.Add(`a\x{212A}?k`, "aK")
	f.Fuzz(func(t *testing.T, expr, text string) {
		re, err := regexp.Compile(expr)
		if err != nil {
			return
		}
		match := re.FindStringIndex(text)
		if part := string(requiredIn(expr)); match != nil && !strings.Contains(text[match[0]:match[1]], part) {
			t.Errorf("%q requires %q, and matches %q", expr, part, text[match[0]:match[1]])
		}
	})
}
