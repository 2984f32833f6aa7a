package mask

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"batch.example/batch/internal/lazy"
)

// spellings returns the forms in which a value may be written; none for a value
// that is not hidden.
func spellings(value string) []string {
	value = strings.TrimSpace(value)
	if len(value) < MinLength || shortNumber(value) {
		return nil
	}
	forms := append([]string{value}, inBase64(value)...)
	for _, escaped := range []string{url.QueryEscape(value), url.PathEscape(value)} {
		forms = append(forms, escaped, percent().ReplaceAllStringFunc(escaped, strings.ToLower))
	}
	for _, once := range escapes(value) {
		forms = append(append(forms, once), escapes(once)...)
	}
	slices.Sort(forms)
	return slices.Compact(forms)
}

var percent = lazy.Regexp(`%[0-9A-F]{2}`)

func shortNumber(value string) bool {
	return len(value) < 12 && strings.Trim(value, "0123456789.-+") == ""
}

// escapes returns the ways in which JSON and Go write text between quotes.
func escapes(text string) []string {
	plain := inJSON(text, false)
	return []string{
		plain,
		inJSON(text, true),
		strings.ReplaceAll(plain, "/", `\/`), // as PHP
		inASCII(plain),                       // as Python
		unquoted(strconv.Quote(text)),
	}
}

func inJSON(text string, html bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	_ = e.Encode(text) // a text can always be written
	return unquoted(strings.TrimSuffix(b.String(), "\n"))
}

func unquoted(s string) string { return s[1 : len(s)-1] }

// inASCII escapes all characters beyond ASCII in a JSON text.
func inASCII(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r < 0x7f {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
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
