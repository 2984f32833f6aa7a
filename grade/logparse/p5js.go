package logparse

import (
	"strings"
	"unicode/utf8"
)

// p5JS reads the failures of a mocha report in a browser: the number, then suites and test on lines
// of growing indent up to a colon. Text that looks like JSON or XML is removed first.
func p5JS(log string, _ input, out *results) error {
	log = withoutTags(withoutJSON(stripANSI(log)))
	for pos := 0; pos < len(log); {
		// (?m)^\s*(\d+)\)(.{0,1000}?): with . for every character.
		line, _, _ := strings.Cut(log[pos:], "\n")
		if rest, ok := cutSteps(stripLeft(line), cutDigits, literal(")")); ok {
			start := pos + len(line) - len(rest)
			if length, ok := nearColon(log[start:]); ok {
				end := start + length
				if name, ok := p5Name(log[start:end]); ok {
					out.set(name, Failed)
				}
				line, _, _ = strings.Cut(log[end:], "\n")
				pos = end
			}
		}
		pos += len(line) + 1
	}
	return nil
}

// p5Name joins the lines of text. Each must be indented more than the one before.
func p5Name(text string) (name string, ok bool) {
	var parts []string
	last := 0
	for line := range lines(text) {
		indent := indentOf(line)
		if indent <= last {
			return "", false
		}
		last = indent
		parts = append(parts, strip(line))
	}
	return strings.Join(parts, ":"), true
}

// nearColon finds the first colon, if it is at most 1000 characters away.
func nearColon(text string) (at int, ok bool) {
	const far = 1000
	at = strings.IndexByte(text[:min(len(text), far*utf8.UTFMax+1)], ':')
	return at, at >= 0 && utf8.RuneCountInString(text[:at]) <= far
}

// withoutJSON removes lines that look roughly like a block of JSON.
func withoutJSON(log string) string {
	var b strings.Builder
	b.Grow(len(log))
	object, list := false, false
	for line := range lines(log) {
		text := stripRight(line)
		switch {
		case strings.HasSuffix(text, "{"):
			object = true
		case strings.HasSuffix(text, "["):
			list = true
		case text == "}" && object:
			object = false
		case text == "]" && list:
			list = false
		case object || list, isBetween(text, "{", "}"), isBetween(text, "[", "]"):
		default:
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func isBetween(text, first, last string) bool {
	return strings.HasPrefix(text, first) && strings.HasSuffix(text, last)
}

// withoutTags cleans a log with XML in one pass, with the same result as the reference. The
// reference repeats a step until it changes nothing: it finds the first opening tag that is
// followed by the same closing tag, <(\w+)>[\s\S]*?</\1>, and replaces the text from the opening
// tag to the nearest closing tag by as many opening tags as there were additional ones in between.
//
// So everything up to the tag's balance disappears; if there are too few closing tags, the surplus
// opening tags stay and are never examined again. There is one exception: the texts before and
// after a removed block can form a new tag together, which must be found.
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

// tagRemover moves over in. No opening tag in out has its closing tag after it, in out or in the
// rest of in.
type tagRemover struct {
	in     string
	pos    int
	closed map[string]int // the last position in the input of each closing tag
	out    []byte

	partial int // start of an incomplete tag at the end of out, or -1
	opened  map[string]*openTags
	all     []*openTags // the tag of every opening tag in out
}

// openTags are the opening tags in out of one name.
type openTags struct {
	tag     string // <name>
	at      []int
	partial int // the value of partial before the first of them
	row     int // number of them, from the first on, with nothing in between
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

// extend copies the text of the partial tag, and handles a tag that it completes.
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

// complete handles the partial tag at the ">" that comes next.
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

// open handles an opening tag before pos: it removes the text up to its balance, as far as there
// are closing tags. The surplus remains.
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

// keep appends an opening tag without a closing tag.
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

// close handles a closing tag that has just been formed at the end of out.
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
