package shell

import "strings"

// Limits against scripts that are made to be expensive.
const (
	maxDepth    = 12
	maxCommands = 20_000
	maxExpanded = 1 << 20 // bytes of variables
)

// Split returns the commands of a bash script.
func Split(script string) []Command {
	r := &reader{vars: map[string]string{}}
	r.read(script, 0)
	return r.list
}

// reader has what scanners of a script and of the scripts in it share.
type reader struct {
	list []Command
	vars map[string]string
	dir  string

	expanded int
}

func (r *reader) read(script string, depth int) {
	if depth < maxDepth {
		s := &scanner{reader: r, src: script, depth: depth}
		s.commands(false)
	}
}

// scanner reads one text.
type scanner struct {
	*reader
	src     string
	pos     int
	depth   int
	now     draft // the command that is being read
	pending []heredoc
}

// draft is a command before its end.
type draft struct {
	Command
	quoted []bool // for each word: it had quotes
	start  int    // in the source; -1: nothing yet
	end    int
	docs   int    // here documents that it waits for
	piped  string // what the command before it in a pipe prints
}

type heredoc struct {
	delimiter string
	tabs      bool // <<-
	quoted    bool // nothing in it is expanded
	to        *draft
}

// commands reads up to the end, or to the parenthesis that ends a substitution.
func (s *scanner) commands(inner bool) {
	s.fresh()
	open := 0
	for s.pos < len(s.src) && len(s.list) < maxCommands {
		switch c := s.src[s.pos]; {
		case c == ' ' || c == '\t' || c == '\r':
			s.pos++
		case c == '\\' && strings.HasPrefix(s.src[s.pos:], "\\\n"):
			s.pos += 2
		case c == '\n':
			s.end()
			s.pos++
			s.heredocs()
		case c == '#':
			s.pos += until(s.src[s.pos:], "\n")
		case s.test():
			s.word()
		case c == ';' || c == '|' || c == '&' && !strings.HasPrefix(s.src[s.pos:], "&>"):
			piped := ""
			if c == '|' && s.expanded < maxExpanded {
				piped = s.now.printed()
			}
			s.end()
			s.now.piped = piped[:min(len(piped), len(s.src))] // variables may make it long
			s.pos++
		case c == '(':
			if s.paren() {
				open++
			}
		case c == ')' && open == 0:
			if inner {
				s.end()
				return
			}
			s.fresh() // a pattern of case
			s.pos++
		case c == ')':
			open--
			s.end()
			s.pos++
		case s.redirect():
		default:
			s.word()
		}
	}
	s.end()
	s.heredocs()
}

// test reports whether the scanner is inside [[ ]], where < and ( are operators of it.
func (s *scanner) test() bool {
	w := s.now.Words
	return len(w) > 0 && w[0] == "[[" && w[len(w)-1] != "]]"
}

// paren begins a subshell, or leaves out the name of a function.
func (s *scanner) paren() (opened bool) {
	d := &s.now
	if n := len(d.Words); n > 0 && d.end == s.pos && strings.HasSuffix(d.Words[n-1], "=") {
		s.array()
		return false
	}
	if d.start < 0 && strings.HasPrefix(s.src[s.pos:], "((") {
		s.pos = min(s.pos+until(s.src[s.pos:], "))")+2, len(s.src))
		return false
	}
	if len(d.Words) == 1 && strings.HasPrefix(strings.TrimLeft(s.src[s.pos+1:], " "), ")") {
		s.fresh()
	}
	s.end()
	s.pos++
	return true
}

func (s *scanner) fresh() { s.now = draft{start: -1} }

// end ends the command that is being read.
func (s *scanner) end() {
	d := s.now
	if d.start < 0 {
		return
	}
	s.fresh()
	if d.docs == 0 && d.Stdin == "" {
		d.Stdin = d.piped
		s.expanded += len(d.piped)
	}
	d.Dir = s.dir
	d.Text = strings.TrimSpace(s.src[d.start:d.end])
	if d.docs == 0 {
		s.add(d.Command, s.depth)
		return
	}
	for i := range s.pending { // its bodies follow
		if s.pending[i].to == nil {
			s.pending[i].to = &d
		}
	}
}

// until returns the index of end in text, or its length.
func until(text, end string) int {
	if i := strings.Index(text, end); i >= 0 {
		return i
	}
	return len(text)
}

// heredocs reads the bodies of the here documents of the line before.
func (s *scanner) heredocs() {
	for _, h := range s.pending {
		var body strings.Builder
		for s.pos < len(s.src) {
			n := until(s.src[s.pos:], "\n")
			line := s.src[s.pos : s.pos+n]
			s.pos = min(len(s.src), s.pos+n+1)
			if h.tabs {
				line = strings.TrimLeft(line, "\t")
			}
			if line == h.delimiter {
				break
			}
			body.WriteString(line + "\n")
		}
		if !h.quoted && s.depth+1 < maxDepth {
			(&scanner{reader: s.reader, src: body.String(), depth: s.depth + 1}).document()
		}
		if h.to == nil {
			continue
		}
		h.to.Stdin += body.String()
		if h.to.docs--; h.to.docs == 0 {
			s.add(h.to.Command, s.depth)
		}
	}
	s.pending = nil
}
