package printable

import "testing"

func TestShellWord(t *testing.T) {
	for text, want := range map[string]string{
		"runs/gpt-5_a.b": "runs/gpt-5_a.b",
		"läufe":          "läufe",
		"":               "''",
		"my runs":        "'my runs'",
		"~/runs":         "'~/runs'",
		"it's":           `'it'\''s'`,
		"a;b":            "'a;b'",
	} {
		if got := ShellWord(text); got != want {
			t.Errorf("ShellWord(%q): got %s, want %s", text, got, want)
		}
	}
}
