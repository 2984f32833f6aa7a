package diff

import (
	"strconv"
	"strings"
)

// Trim returns a name without the prefix a/ or b/.
func Trim(name string) string {
	if strings.HasPrefix(name, "a/") || strings.HasPrefix(name, "b/") {
		return name[len("a/"):]
	}
	return name
}

// Unquote returns the name that git quotes because of unusual bytes. A name without quotes stays as
// it is.
func Unquote(text string) string {
	name, _, _ := unquote(text)
	return name
}

// unquote returns the name in the quotes with which text begins, and the text after them.
func unquote(text string) (name, rest string, quoted bool) {
	if strings.HasPrefix(text, `"`) {
		if literal, err := strconv.QuotedPrefix(text); err == nil { // Go has the same escapes as git
			name, err = strconv.Unquote(literal)
			return name, text[len(literal):], err == nil
		}
	}
	return text, "", false
}

// nameIn returns the name in a line that begins with --- or +++.
func nameIn(text string) string {
	name, _, quoted := unquote(text)
	if !quoted {
		name, _, _ = strings.Cut(text, "\t") // a time may follow
	}
	if name == "/dev/null" {
		return ""
	}
	return name
}

// bothNames returns the two names in git's first line. Without quotes they may contain blanks, so
// that only equal names can be told apart. Those of a rename are also in other lines.
func bothNames(text string) (before, after string) {
	if name, rest, quoted := unquote(text); quoted {
		return name, Unquote(strings.TrimPrefix(rest, " "))
	}
	if name, rest, found := strings.Cut(text, ` "`); found {
		return name, Unquote(`"` + rest)
	}
	slash := strings.IndexByte(text, '/') // the prefix may be any folder
	second := slash
	for i := slash + 1; slash >= 0 && i < len(text); i++ {
		if second < i {
			next := strings.IndexByte(text[i:], '/')
			if next < 0 {
				break
			}
			second = i + next
		}
		if text[i] == ' ' && text[slash:i] == text[second:] {
			return text[:i], text[i+1:]
		}
	}
	before, after, _ = strings.Cut(text, " ")
	return before, after
}
