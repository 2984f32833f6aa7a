package mask

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// JSON returns a JSON text with the secrets in its strings hidden. The result is still
// valid JSON, and parts without a secret keep their bytes. text is not changed; it is
// returned as it is if it is not valid JSON or has no secret.
func (m *Masker) JSON(text []byte) []byte {
	if m == nil {
		return text
	}
	t := m.known.Load()
	if len(t.patterns) == 0 && len(t.literals(text)) == 0 && !bytes.Contains(text, []byte(`\u001`)) {
		return text
	}
	var out []byte
	done := 0
	for i := 0; i < len(text); {
		if text[i] != '"' {
			i++
			continue
		}
		end := stringEnd(text, i)
		if quoted := text[i:end]; !isName(text[end:]) {
			if hidden := m.jsonString(quoted); !bytes.Equal(hidden, quoted) {
				out = append(append(out, text[done:i]...), hidden...)
				done = end
			}
		}
		i = end
	}
	if done == 0 {
		return text
	}
	return append(out, text[done:]...)
}

// stringEnd returns where the string that begins at text[from] ends.
func stringEnd(text []byte, from int) int {
	for i := from + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// isName reports whether the string before rest is a member's name.
func isName(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}

// jsonString hides the secrets in a quoted string. It searches the decoded text, because
// there is more than one way to write a string, and because a pattern could match the
// quotes. A pattern does not hide a time, which a program reads back.
func (m *Masker) jsonString(quoted []byte) []byte {
	if end := len(quoted) - 1; end > 1 && quoted[end] == '"' && isTime(quoted[1:end]) {
		return slices.Concat(quoted[:1], hide(quoted[1:end], m.known.Load().literals(quoted[1:end])), quoted[end:])
	}
	if bytes.IndexByte(quoted, '\\') < 0 {
		end := len(quoted)
		if end > 1 && quoted[end-1] == '"' {
			end--
		}
		return slices.Concat(quoted[:1], m.Bytes(quoted[1:end]), quoted[end:])
	}
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		return quoted
	}
	hidden := m.Text(s)
	if hidden == s {
		return quoted
	}
	return []byte(inJSON(hidden))
}

func isTime(text []byte) bool {
	if len(text) > len("2006-01-02T15:04:05.999999999+00:00") {
		return false
	}
	_, err := time.Parse(time.RFC3339, string(text))
	return err == nil
}

func inJSON(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a text can always be written
	return strings.Trim(b.String(), "\n")
}
