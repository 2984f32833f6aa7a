package logparse

import (
	"strings"
)

// withoutTags does what the reference does to a log with XML in it, in one pass. The
// reference repeats until nothing is left to do: it looks for the first opening tag that the
// same closing tag comes after, <(\w+)>[\s\S]*?</\1>, and replaces the text from the one to
// the nearest other by as many opening tags as there were more of the same in between.
//
// So everything up to the tag's balance goes away; if there are too few closing tags, what
// is too much of the opening ones stays, and is never looked at again: with one exception.
// The texts before and after a removed block can form a new tag together, which must be found.
func withoutTags(log string) string {
	if !strings.Contains(log, "</") {
		return log
	}
	t := tagRemover{in: log, closed: lastClosingTags(log), partial: -1, opened: map[string]*openTags{}}
	for t.pos < len(t.in) {
		t.step()
	}
	return string(t.out)
}

// tagRemover moves over in. No opening tag in out has its closing tag after it, in out or
// in the rest of in.
type tagRemover struct {
	in     string
	pos    int
	closed map[string]int // the last position in the input of each closing tag
	out    []byte

	partial int // where the start of a tag is, with nothing but its characters after it, at the end of out; or -1
	opened  map[string]*openTags
	all     []*openTags // the tag of every opening tag in out
}

// openTags are the opening tags in out of one name.
type openTags struct {
	tag     string // <name>
	at      []int
	partial int // what partial was before the first of them
	row     int // how many of them, from the first on, have nothing in between
}

func (t *tagRemover) step() {
	if t.in[t.pos] == '<' {
		if name, rest, ok := cutOpeningTag(t.in[t.pos:]); ok {
			t.pos = len(t.in) - len(rest)
			t.open(name)
			return
		}
		t.partial = len(t.out)
		t.copy(1)
		return
	}
	if t.partial < 0 {
		n := strings.IndexByte(t.in[t.pos:], '<')
		if n < 0 {
			n = len(t.in) - t.pos
		}
		t.copy(n)
		return
	}
	t.extend()
}

func (t *tagRemover) copy(n int) {
	t.out = append(t.out, t.in[t.pos:t.pos+n]...)
	t.pos += n
}

// extend copies what belongs to the partial tag, and acts on one that it completes.
func (t *tagRemover) extend() {
	rest := t.in[t.pos:]
	word, _ := cutWordChars(rest)
	switch {
	case len(word) < len(rest):
		t.copy(len(rest) - len(word))
	case rest[0] == '/' && len(t.out) == t.partial+1:
		t.copy(1)
	case rest[0] == '>':
		t.complete()
	default:
		t.partial = -1
	}
}

// complete acts on the partial tag with the ">" that comes next.
func (t *tagRemover) complete() {
	name := string(t.out[t.partial+1:])
	t.pos++
	closing := strings.HasPrefix(name, "/")
	switch {
	case name == "" || name == "/":
		t.out = append(t.out, '>')
		t.partial = -1
	case closing:
		t.out = append(t.out, '>')
		t.partial = -1
		t.close(name[1:])
	default:
		at := t.partial
		t.out = t.out[:at]
		t.partial = -1
		t.open(name)
	}
}

// open acts on an opening tag before pos: it removes the text up to its balance, as far as
// there are closing tags. What is too much remains.
func (t *tagRemover) open(name string) {
	tag, end := "<"+name+">", "</"+name+">"
	depth := 1
	for last, ok := t.closed[name]; ok && depth > 0 && last >= t.pos; depth-- {
		n := strings.Index(t.in[t.pos:], end)
		depth += strings.Count(t.in[t.pos:t.pos+n], tag)
		t.pos += n + len(end)
	}
	for ; depth > 0; depth-- {
		t.keep(name, tag)
	}
}

// keep appends an opening tag that nothing closes.
func (t *tagRemover) keep(name, tag string) {
	o := t.opened[name]
	if o == nil {
		o = &openTags{tag: tag}
		t.opened[name] = o
	}
	if len(o.at) == 0 {
		o.partial, o.row = t.partial, 0
	}
	if o.row == len(o.at) && (o.row == 0 || o.at[0]+o.row*len(tag) == len(t.out)) {
		o.row++
	}
	o.at = append(o.at, len(t.out))
	t.all = append(t.all, o)
	t.out = append(t.out, tag...)
	t.partial = -1
}

// close acts on a closing tag that has just been formed at the end of out.
func (t *tagRemover) close(name string) {
	o := t.opened[name]
	if o == nil || len(o.at) == 0 {
		return
	}
	more := len(o.at) - 1
	row := min(o.row, more)
	partial := o.partial
	t.truncate(o.at[0] + row*len(o.tag))
	o.row = row
	for range more - row {
		t.keep(name, o.tag)
	}
	if more == 0 {
		t.partial = partial
	}
}

// truncate cuts out to n bytes.
func (t *tagRemover) truncate(n int) {
	for i := len(t.all) - 1; i >= 0; i-- {
		o := t.all[i]
		last := len(o.at) - 1
		if o.at[last] < n {
			break
		}
		o.at, t.all = o.at[:last], t.all[:i]
		o.row = min(o.row, last)
	}
	t.out = t.out[:n]
}

// cutOpeningTag is <(\w+)>.
func cutOpeningTag(text string) (name, rest string, ok bool) {
	rest, ok = cutSteps(text, literal("<"), cutWordChars, literal(">"))
	if !ok {
		return "", text, false
	}
	return text[len("<") : len(text)-len(rest)-len(">")], rest, true
}

func lastClosingTags(text string) map[string]int {
	last := map[string]int{}
	for s := (search{text: text}); s.next("</"); {
		if s.cut(cutWordChars, literal(">")) {
			last[text[s.start+len("</"):s.pos-len(">")]] = s.start
		}
	}
	return last
}
