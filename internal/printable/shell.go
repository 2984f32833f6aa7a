package printable

import (
	"strings"
	"unicode"

	"batch.example/batch/internal/bash"
)

// ShellWord returns text as a shell takes it as one word, quoted only where it must be:
// for commands that a person may copy.
func ShellWord(text string) string {
	special := func(r rune) bool {
		return !strings.ContainsRune("@%+=:,./_-", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}
	if text == "" || strings.ContainsFunc(text, special) {
		return bash.Quote(text)
	}
	return text
}
