package python_test

import (
	"testing"

	"batch.example/batch/internal/python"
)

func TestLinesEndAsInPython(t *testing.T) {
	for _, c := range []struct{ text, line, rest string }{
		{"", "", ""},
		{"no end", "no end", ""},
		{"a\nb\nc", "a", "b\nc"},
		{"\nb", "", "b"},
		{"\r\n\r\nb", "", "\r\nb"},
		{"a\rb\r\n", "a", "b\r\n"},
		{"a\n\rb", "a", "\rb"},
		{"é\u2028b", "é", "b"},
		{"caf\xe9\x85\x1eb", "caf\xe9\x85", "b"}, // a byte 0x85 alone is not U+0085
		{"a\u0085b", "a", "b"},
		{"a\tb\n", "a\tb", ""},
	} {
		if line, rest := python.CutLine([]byte(c.text)); string(line) != c.line || string(rest) != c.rest {
			t.Errorf("%q is cut into %q and %q, want %q and %q", c.text, line, rest, c.line, c.rest)
		}
	}
}
