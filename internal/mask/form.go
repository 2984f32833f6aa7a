package mask

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// form is a text that stands for a secret. Its characters may be escaped.
type form struct {
	text, name string
	plain      string // what it begins with in every text
	pieces     []piece
}

// piece is a part of a form: letters and digits, or one character that may be escaped.
type piece struct {
	text    string
	escapes []string
}

func newForm(text, name string) *form {
	f := &form{text: text, name: name}
	known := map[string][]string{}
	for rest := text; rest != ""; {
		n := 0
		for n < len(rest) && classOf(rest[n]) != 0 {
			n++
		}
		p := piece{text: rest[:n]}
		if n == 0 {
			_, n = utf8.DecodeRuneInString(rest)
			p.text = rest[:n]
			if p.escapes = known[p.text]; p.escapes == nil {
				p.escapes = escapes(p.text)
				known[p.text] = p.escapes
			}
		}
		f.pieces = append(f.pieces, p)
		rest = rest[n:]
	}
	if first := f.pieces[0]; first.escapes == nil {
		f.plain = first.text
	}
	return f
}

// longest returns how many bytes the form may have in a text.
func (f *form) longest() int {
	all := 0
	for _, p := range f.pieces {
		most := len(p.text)
		for _, e := range p.escapes {
			most = max(most, len(e)+strings.Count(e, `\`)*(maxBackslashes-1))
		}
		all += most
	}
	return all
}

// pairs returns the first two bytes that the form may have in a text.
func (f *form) pairs() [][2]byte {
	var found [][2]byte
	for _, way := range f.pieces[0].ways() {
		if way[0] == '\\' {
			found = append(found, [2]byte{'\\', '\\'})
		}
		if len(way) > 1 {
			found = append(found, [2]byte{way[0], way[1]}, [2]byte{way[0], upper(way[1])})
			continue
		}
		for _, next := range f.pieces[1].ways() { // a form has more than one byte
			found = append(found, [2]byte{way[0], next[0]})
		}
	}
	return found
}

func (p piece) ways() []string { return append([]string{p.text}, p.escapes...) }

// match returns how many bytes at the beginning of b are the form; 0 if it is not there. Cut
// says that more bytes could make it the form, or more of it.
func (f *form) match(b []byte) (n int, cut bool) {
	if n := min(len(b), len(f.plain)); string(b[:n]) != f.plain[:n] {
		return 0, false // as nearly always
	}
	return f.rest(b)
}

func (f *form) rest(b []byte) (n int, cut bool) {
	var x, y [8]int
	ends, next := append(x[:0], 0), y[:0] // of what was matched: a backslash may be one or begin an escape
	for _, p := range f.pieces {
		next = next[:0]
		for _, at := range ends {
			end, more := p.plainAt(b, at)
			next, cut = addEnd(next, end), cut || more
			for _, e := range p.escapes {
				end, more := escapeAt(b, at, e)
				next, cut = addEnd(next, end), cut || more
			}
		}
		if len(next) == 0 {
			return 0, cut
		}
		ends, next = next, ends
	}
	return slices.Max(ends), cut
}

func addEnd(ends []int, end int) []int {
	if end < 0 || slices.Contains(ends, end) {
		return ends
	}
	return append(ends, end)
}

// plainAt returns where the piece that begins at text[from], as it is, ends; -1 if it is not
// there. Cut says that more text could make it one.
func (p piece) plainAt(text []byte, from int) (end int, cut bool) {
	n := min(len(p.text), len(text)-from)
	switch {
	case string(text[from:from+n]) != p.text[:n]:
		return -1, false
	case n < len(p.text):
		return -1, true
	}
	return from + n, false
}

// escapeAt is plainAt for one of its escapes. With more text, it may also be longer.
func escapeAt(text []byte, from int, escape string) (end int, cut bool) {
	at := from
	for i := range len(escape) {
		if at == len(text) {
			return -1, true
		}
		if lower(text[at]) != escape[i] {
			return -1, false
		}
		at++
		if escape[i] == '\\' {
			for row := 1; row < maxBackslashes && at < len(text) && text[at] == '\\'; row++ {
				at++
			}
			cut = at == len(text)
		}
	}
	return at, cut
}

func lower(c byte) byte {
	if classOf(c) == 'A' {
		return c + 'a' - 'A'
	}
	return c
}

func upper(c byte) byte {
	if classOf(c) == 'a' {
		return c + 'A' - 'a'
	}
	return c
}

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
