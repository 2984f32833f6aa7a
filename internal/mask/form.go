package mask

import (
	"slices"
	"strings"
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
