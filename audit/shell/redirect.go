package shell

import "strings"

// operators are the redirections, the longest first.
var operators = []string{"&>>", "<<<", "<<-", "&>", "<<", ">>", ">|", ">&", "<&", "<>", ">", "<"}

// redirect reads a redirection or a process substitution; false: there is neither.
func (s *scanner) redirect() bool {
	rest := s.src[s.pos:]
	if strings.HasPrefix(rest, "<(") || strings.HasPrefix(rest, ">(") {
		s.touch()
		s.pos += 2
		s.inner()
		s.now.Words, s.now.quoted = append(s.now.Words, "/dev/fd/63"), append(s.now.quoted, false)
		s.now.end = s.pos
		return true
	}
	for _, op := range operators {
		if strings.HasPrefix(rest, op) {
			s.touch()
			s.descriptor()
			s.pos += len(op)
			s.blanks()
			s.target(op)
			s.now.end = s.pos
			return true
		}
	}
	return false
}

// touch begins a command if there is none.
func (s *scanner) touch() {
	if s.now.start < 0 {
		s.now.start = s.pos
	}
}

// descriptor removes the number right before a redirection from the words.
func (s *scanner) descriptor() {
	d := &s.now
	n := len(d.Words)
	if n == 0 || d.quoted[n-1] || d.end != s.pos || strings.Trim(d.Words[n-1], "0123456789") != "" {
		return
	}
	d.Words, d.quoted = d.Words[:n-1], d.quoted[:n-1]
}

func (s *scanner) blanks() {
	for s.pos < len(s.src) && (s.src[s.pos] == ' ' || s.src[s.pos] == '\t') {
		s.pos++
	}
}

// target reads what a redirection goes to.
func (s *scanner) target(op string) {
	if rest := s.src[s.pos:]; strings.HasPrefix(rest, "<(") || strings.HasPrefix(rest, ">(") {
		s.pos += 2
		s.inner()
		return
	}
	text, quoted := s.text()
	d := &s.now
	switch op {
	case "<<", "<<-":
		d.docs++
		s.pending = append(s.pending, heredoc{delimiter: text, tabs: op == "<<-", quoted: quoted})
	case "<<<":
		d.Stdin += text + "\n"
	default:
		d.Redirects = append(d.Redirects, Redirect{op, text})
	}
}
