package mask

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// spellings returns the texts that stand for a value. Each may be escaped. A value that is not
// hidden has none.
func spellings(value string) []string {
	value = strings.TrimSpace(value)
	if len(value) < MinLength || shortNumber(value) {
		return nil
	}
	digits := hex.EncodeToString([]byte(value))
	return append(inBase64(value), value, digits, strings.ToUpper(digits))
}

func shortNumber(value string) bool {
	return len(value) < 12 && strings.Trim(value, "0123456789.-+") == ""
}

// inBase64 returns the base64 forms of value for each position at which it can begin in
// the encoded bytes: the characters that depend only on value.
func inBase64(value string) []string {
	var forms []string
	for before := range 3 {
		bytes := append(make([]byte, before), value...)
		first := (before*8 + 5) / 6
		last := len(bytes) * 8 / 6
		for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			forms = append(forms, alphabet.EncodeToString(bytes)[first:last])
		}
	}
	return forms
}

// maxBackslashes is the longest row of backslashes that is taken for one: three levels of
// JSON in JSON make one backslash eight.
const maxBackslashes = 8

// escapes returns the ways in which encoders write a character that is neither a letter nor
// a digit of ASCII, in lower case; nil for those, which stay as they are. A backslash
// stands for a row of them, as escapes within escapes have.
func escapes(c string) []string {
	if classOf(c[0]) != 0 {
		return nil
	}
	r, _ := utf8.DecodeRuneInString(c)
	var percent, hexadecimal, octal, units string
	for i := range len(c) {
		percent += fmt.Sprintf("%%%02x", c[i])
		hexadecimal += fmt.Sprintf(`\x%02x`, c[i])
		octal += fmt.Sprintf(`\%03o`, c[i])
	}
	for _, unit := range utf16.AppendRune(nil, r) {
		units += fmt.Sprintf(`\u%04x`, unit)
	}
	ways := []string{
		percent, hexadecimal, octal, units, fmt.Sprintf(`\u%08x`, r), fmt.Sprintf(`\u{%x}`, r),
		fmt.Sprintf("&#%d;", r), fmt.Sprintf("&#%03d;", r), fmt.Sprintf("&#x%x;", r), fmt.Sprintf("&#x%02x;", r),
	}
	switch {
	case r == '\\':
		ways = append(ways, c)
	case r < utf8.RuneSelf:
		ways = append(ways, `\`+c) // as JSON and shells
	case r < 0x100:
		ways = append(ways, fmt.Sprintf(`\x%02x`, r)) // as Python
	}
	if '\a' <= r && r <= '\r' {
		ways = append(ways, `\`+"abtnvfr"[r-'\a':r-'\a'+1])
	}
	return append(ways, ownEscapes[c]...)
}

// ownEscapes has the escapes that only one character has.
var ownEscapes = map[string][]string{
	" ": {"+"},
	`"`: {"&quot;", `""`},
	"'": {"&apos;", `''`, `'\''`, `'"'"'`, `'\"'\"'`},
	"&": {"&amp;"},
	"<": {"&lt;"},
	">": {"&gt;"},
}
