package shell

import "strings"

// reserved are words after which a command begins.
var reserved = map[string]bool{
	"if": true, "then": true, "elif": true, "else": true, "while": true, "until": true, "do": true, "!": true, "{": true,
	"fi": true, "done": true, "esac": true, "}": true, "coproc": true,
}

// word reads a word and puts it in its place.
func (s *scanner) word() {
	from := s.pos
	text, quoted := s.text()
	if s.pos == from { // a character that begins no word
		s.pos++
		return
	}
	d := &s.now
	if d.start < 0 && !quoted && reserved[text] {
		return
	}
	if d.start < 0 {
		d.start = from
	}
	d.end = s.pos
	if name, value, ok := assignment(text); ok && len(d.Words) == 0 {
		if strings.HasPrefix(s.src[s.pos:], "(") && value == "" {
			s.array()
			d.end = s.pos
		}
		d.Assigns = append(d.Assigns, text)
		s.set(name, value)
		return
	}
	d.Words, d.quoted = append(d.Words, text), append(d.quoted, quoted)
}

// set remembers a variable with a plain value.
func (s *scanner) set(name, value string) {
	if strings.ContainsAny(value, "$`") || len(value) > 256 {
		delete(s.vars, name)
	} else {
		s.vars[name] = value
	}
}

// assignment splits NAME=VALUE.
func assignment(text string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(text, "=")
	return name, value, ok && name != "" && nameLength(name) == len(name)
}

// nameLength returns how long the variable's name is at the beginning of text.
func nameLength(text string) int {
	for i := range len(text) {
		c := text[i]
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return i
		}
	}
	return len(text)
}

// array skips the values of an array.
func (s *scanner) array() {
	s.pos++
	for s.pos < len(s.src) && s.src[s.pos] != ')' {
		if from := s.pos; strings.IndexByte(" \t\n", s.src[s.pos]) >= 0 {
			s.pos++
		} else if s.text(); s.pos == from {
			s.pos++
		}
	}
	s.pos = min(s.pos+1, len(s.src))
}

// text reads the text of a word, without its quotes.
func (s *scanner) text() (text string, quoted bool) {
	var b strings.Builder
	for s.pos < len(s.src) {
		c := s.src[s.pos]
		switch {
		case strings.IndexByte(" \t\r\n;|&", c) >= 0 || strings.IndexByte("()<>", c) >= 0 && !s.test():
			return b.String(), quoted
		case c == '\'':
			quoted = true
			n := until(s.src[s.pos+1:], "'")
			b.WriteString(s.src[s.pos+1 : s.pos+1+n])
			s.pos = min(s.pos+n+2, len(s.src))
		case c == '"':
			quoted = true
			s.pos++
			s.double(&b)
		case c == '\\':
			if s.pos+1 < len(s.src) && s.src[s.pos+1] != '\n' {
				b.WriteByte(s.src[s.pos+1])
			}
			quoted = true
			s.pos = min(s.pos+2, len(s.src))
		case c == '$' || c == '`':
			quoted = s.dollar(&b, false) || quoted
		default:
			b.WriteByte(c)
			s.pos++
		}
	}
	return b.String(), quoted
}

// double reads the rest of a text in double quotes.
func (s *scanner) double(b *strings.Builder) {
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; {
		case c == '"':
			s.pos++
			return
		case c == '\\' && s.pos+1 < len(s.src):
			if next := s.src[s.pos+1]; next != '\n' {
				if strings.IndexByte("$`\"\\", next) < 0 {
					b.WriteByte('\\')
				}
				b.WriteByte(next)
			}
			s.pos += 2
		case c == '$' || c == '`':
			s.dollar(b, true)
		default:
			b.WriteByte(c)
			s.pos++
		}
	}
}
