package logparse

// nested is the path of the suites that a test is in.
type nested struct {
	separator string
	path      []byte // the suites' names, each with separator after it
	starts    []int  // where each begins in path
	joined    string // path as a string, if current
	stale     bool
}

func (n *nested) enter(name string) {
	n.starts = append(n.starts, len(n.path))
	n.path = append(append(n.path, name...), n.separator...)
	n.stale = true
}

// leave leaves all suites except the outermost ones; depth is how many remain.
func (n *nested) leave(depth int) {
	if depth < len(n.starts) {
		n.path, n.starts, n.stale = n.path[:n.starts[depth]], n.starts[:depth], true
	}
}

// prefix returns the text before the name of a test.
func (n *nested) prefix() string {
	if n.stale {
		n.joined, n.stale = string(n.path), false
	}
	return n.joined
}

// suites tracks nesting that a report shows only by indents: a line belongs to the nearest line
// above with a smaller indent.
type suites struct {
	nested
	indents []int
}

const suiteSeparator = " - "

func newSuites() *suites { return &suites{nested: nested{separator: suiteSeparator}} }

// enterLine leaves the suites with the same or a larger indent, and enters the line.
func (s *suites) enterLine(line string) {
	indent := indentOf(line)
	n := len(s.indents)
	for n > 0 && s.indents[n-1] >= indent {
		n--
	}
	s.leave(n)
	s.indents = append(s.indents[:n], indent)
	s.enter(strip(line))
}
