package shell

import "strings"

// dollar reads what begins with $ or a backquote, and reads the commands in it. It reports
// whether it was a quoted text.
func (s *scanner) dollar(b *strings.Builder, inQuotes bool) bool {
	rest := s.src[s.pos:]
	switch {
	case rest[0] == '`':
		s.backquoted(b)
	case strings.HasPrefix(rest, "$(("):
		n := until(rest, "))")
		s.keep(b, min(n+2, len(rest)))
	case strings.HasPrefix(rest, "$("):
		from := s.pos
		s.pos += 2
		s.inner()
		b.WriteString(s.src[from:s.pos])
	case strings.HasPrefix(rest, "${"):
		s.braces(b)
	case strings.HasPrefix(rest, "$'") && !inQuotes:
		s.ansi(b)
		return true
	case strings.HasPrefix(rest, `$"`) && !inQuotes:
		s.pos += 2
		s.double(b)
		return true
	default:
		n := nameLength(rest[1:])
		s.variable(b, rest[1:1+n], 1+n)
	}
	return false
}

// document reads the commands in the substitutions of a here document.
func (s *scanner) document() {
	var b strings.Builder
	for s.pos < len(s.src) {
		switch s.src[s.pos] {
		case '\\':
			s.pos += 2
		case '$', '`':
			s.dollar(&b, true)
		default:
			s.pos++
		}
	}
}

// keep takes n bytes as they are.
func (s *scanner) keep(b *strings.Builder, n int) {
	b.WriteString(s.src[s.pos : s.pos+n])
	s.pos += n
}

// variable writes the value of a variable of n bytes in the source, if it is known.
func (s *scanner) variable(b *strings.Builder, name string, n int) {
	if value, known := s.vars[name]; known && s.expanded < maxExpanded {
		b.WriteString(value)
		s.expanded += len(value)
		s.pos += n
		return
	}
	s.keep(b, n)
}

func (s *scanner) braces(b *strings.Builder) {
	depth := 0
	for i := s.pos; i < len(s.src); i++ {
		switch s.src[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				n := i + 1 - s.pos
				s.variable(b, s.src[s.pos+2:i], n)
				return
			}
		}
	}
	s.keep(b, len(s.src)-s.pos)
}

// inner reads the commands up to the parenthesis that ends a substitution.
func (s *scanner) inner() {
	in := &scanner{reader: s.reader, src: s.src, pos: s.pos, depth: s.depth + 1}
	if in.depth >= maxDepth {
		s.pos = len(s.src)
		return
	}
	dir := s.dir
	in.commands(true)
	s.dir = dir // a cd in a subshell ends with it
	s.pos = min(in.pos+1, len(s.src))
}

func (s *scanner) backquoted(b *strings.Builder) {
	i := s.pos + 1
	for i < len(s.src) && s.src[i] != '`' {
		if s.src[i] == '\\' {
			i++
		}
		i++
	}
	end := min(i, len(s.src))
	s.read(strings.NewReplacer("\\`", "`", `\\`, `\`, `\$`, `$`).Replace(s.src[min(s.pos+1, end):end]), s.depth+1)
	s.keep(b, min(end+1, len(s.src))-s.pos)
}

// escapes are the escapes of $'...' with one letter.
var escapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'a': 7, 'b': 8, 'e': 27, 'f': 12, 'v': 11}

func (s *scanner) ansi(b *strings.Builder) {
	for s.pos += 2; s.pos < len(s.src); s.pos++ {
		switch c := s.src[s.pos]; {
		case c == '\'':
			s.pos++
			return
		case c == '\\' && s.pos+1 < len(s.src):
			s.pos++
			if e, ok := escapes[s.src[s.pos]]; ok {
				b.WriteByte(e)
			} else {
				b.WriteByte(s.src[s.pos])
			}
		default:
			b.WriteByte(c)
		}
	}
}
