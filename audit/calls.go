package audit

import (
	"slices"
	"strconv"
	"strings"

	"batch.example/batch/internal/lazy"
)

// call is a call of a function in a program. Of each expression it has the strings, in order: those of
// 'a' + f(b) are a and what b is. A star stands for what is not known.
type call struct {
	name  string // with dots, as it is imported: urllib.request.urlopen
	on    []string
	args  [][]string
	named map[string][]string
	at    int // in the program
}

// last returns the name behind the last dot.
func (c call) last() string { return c.name[strings.LastIndexByte(c.name, '.')+1:] }

// arg returns the strings of an argument.
func (c call) arg(i int) []string {
	if i < len(c.args) {
		return c.args[i]
	}
	return nil
}

// token is a word of a program. Kind is n for a name, s for a string, f for one with values in
// braces, a backquote for a command of a shell, 0 for a number, and p for other characters.
type token struct {
	kind byte
	text string
	at   int
}

// lexeme matches the letters before a string and the string, a name, a number, or other characters. A
// string without an end is one too: a search for its end from each quote would take long.
const lexeme = `([rbfuRBFU]{0,2})("""(?:\\.|[^\\])*?(?:"""|\z)|'''(?:\\.|[^\\])*?(?:'''|\z)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|` + "`[^`]*`?)" + `|[$@]?([A-Za-z_]\w*)|(\d[\w.]*)|(::|->|==|!=|<=|>=|=>|:=|\n|\S)`

var (
	lexemes  = lazy.Regexp(`(?s)\\\n|#[^\n]*|` + lexeme)
	lexemesC = lazy.Regexp(`(?s)//[^\n]*|/\*.*?(?:\*/|\z)|` + lexeme)
	escapes  = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\\`, `\`, `\"`, `"`, `\'`, `'`)
)

// tokensOf splits a program into its words.
func tokensOf(language, text string) (list []token) {
	form := lexemes()
	if language == "node" || language == "php" {
		form = lexemesC()
	}
	for _, m := range form.FindAllStringSubmatchIndex(text, -1) {
		group := func(n int) string { return text[max(0, m[2*n]):max(0, m[2*n+1])] }
		t := token{kind: 'p', text: group(5), at: m[0]}
		switch {
		case m[4] >= 0:
			quoted := group(2)
			t.kind, t.text = 's', escapes.Replace(strings.Trim(quoted, quoted[:1]))
			if quoted[0] == '`' && language != "node" {
				t.kind = '`'
			} else if quoted[0] == '`' || strings.ContainsAny(group(1), "fF") {
				t.kind = 'f'
			}
		case m[6] >= 0:
			t.kind, t.text = 'n', group(3)
		case m[8] >= 0:
			t.kind, t.text = '0', group(4)
		case t.text == "::" || t.text == "->" && language != "python":
			t.text = "."
		}
		list = append(list, t)
	}
	return list
}

// scanner reads the calls in a program.
type scanner struct {
	language string
	argv     []string // behind the name of the program
	tokens   []token
	names    map[string][]string // the strings of names
	from     map[string]string   // where names come from: an import, or a call such as requests.Session()
	params   map[string][]string // of functions
	open     []*frame
	calls    []call
}

// frame is an open bracket, or the whole program.
type frame struct {
	call
	group  bool     // no call: a list, or brackets around an expression
	now    []string // the strings of the argument so far
	key    string   // the argument's name
	target string   // the name that gets the strings behind begin
	begin  int
	origin string // the last call
}

// callsIn returns the calls in a program. It knows no grammar: it is made for Python, and also finds
// the calls of other languages. A name has its last value; the second reading knows what is
// defined behind its use.
func callsIn(language, text string, argv []string) []call {
	s := &scanner{language: language, argv: argv, names: map[string][]string{}, from: map[string]string{}, params: map[string][]string{}}
	s.imports(text)
	for _, m := range defining().FindAllStringSubmatch(text, -1) {
		s.params[m[1]] = idents().FindAllString(m[2], -1)
	}
	blank := func(part string) string { return strings.Repeat(" ", len(part)) }
	text = defining().ReplaceAllStringFunc(text, blank)
	text = looping().ReplaceAllStringFunc(text, func(part string) string { // as an assignment
		m := looping().FindStringSubmatch(part)
		return m[1] + blank(part[len(m[1])+2:]) + ":="
	})
	s.tokens = tokensOf(language, backquoted().ReplaceAllString(text, "  `$1`"))
	for range 2 {
		s.calls, s.open = nil, []*frame{{group: true}}
		for i := 0; i < len(s.tokens); i++ {
			i = s.token(i)
		}
		for len(s.open) > 1 {
			s.close(len(s.tokens))
		}
	}
	return s.calls
}

var (
	idents    = lazy.Regexp(`[A-Za-z_]\w*`)
	importing = lazy.Regexp(`(?m)(?:^|;)\s*(?:from\s+([\w.]+)\s+)?import\s+\(?([\w., \t]+)`)
	defining  = lazy.Regexp(`\b(?:def|function)\s+(\w+)\s*\(([^()=]*)\)`)
	// backquoted matches the commands of Ruby and Perl in other brackets.
	backquoted = lazy.Regexp(`(?:%x|\bqx)[({\[]([^)}\]]*)[)}\]]`)
	looping    = lazy.Regexp(`\bfor\s*\(?\s*(?:const |let |var )?(\w+)(?:\s*,\s*\w+)*\s+(?:in|of)\b`)
)

func (s *scanner) imports(text string) {
	for _, m := range importing().FindAllStringSubmatch(text, -1) {
		for _, part := range strings.Split(m[2], ",") {
			switch f := strings.Fields(part); {
			case len(f) == 3 && f[1] == "as":
				s.from[f[2]] = strings.TrimPrefix(m[1]+"."+f[0], ".")
			case len(f) == 1 && m[1] != "":
				s.from[f[0]] = m[1] + "." + f[0]
			}
		}
	}
}

func (s *scanner) at(i int) token {
	if i < len(s.tokens) {
		return s.tokens[i]
	}
	return token{}
}

func (t token) is(text string) bool { return t.kind == 'p' && t.text == text }

// token reads a token, and returns the index of the last one that it took.
func (s *scanner) token(i int) int {
	t, top := s.at(i), s.open[len(s.open)-1]
	switch {
	case t.kind == 's' || t.kind == '0':
		top.now = append(top.now, t.text)
	case t.kind == 'f':
		top.now = append(top.now, s.filled(t.text))
	case t.kind == '`':
		s.calls = append(s.calls, call{name: "system", args: [][]string{{t.text}}, at: t.at})
	case t.kind == 'n':
		return s.name(i)
	case t.is("("), t.is("["):
		s.open = append(s.open, &frame{group: true})
	case t.is(")"), t.is("]"):
		return s.close(i)
	case t.is(","):
		top.argument()
	case t.is("\n"), t.is(";"), t.is("}"):
		s.bind(top)
		if len(s.open) == 1 {
			top.now, top.origin = nil, ""
		}
	case t.is(":"):
		s.bind(top)
	}
	return i
}

// keywords are names without a value.
var keywords = []string{
	"and", "as", "assert", "async", "await", "const", "elif", "else", "except", "from", "if", "import", "in", "is", "lambda", "let", "my", "new", "not", "or",
	"raise", "return", "try", "var", "while", "with", "yield", "None", "True", "False", "null", "true", "false",
}

// name reads a name with its dots, and what it is the name of.
func (s *scanner) name(i int) int {
	t, top := s.at(i), s.open[len(s.open)-1]
	switch next := s.at(i + 1); {
	case t.text == "as" && next.kind == 'n':
		if top.target, top.begin = next.text, 0; top.origin != "" { // not of an import
			s.bind(top)
		}
		top.target = ""
		return i + 1
	case next.is("=") && !top.group:
		top.key = t.text
		return i + 1
	case next.is("=") || next.is(":="):
		top.target, top.begin, top.origin = t.text, len(top.now), ""
		return i + 1
	case t.text == "else": // the last of two values has to do
		top.now = top.now[:min(top.begin, len(top.now))]
		return i
	case slices.Contains(keywords, t.text):
		return i
	}
	on, known := s.names[t.text]
	if !known {
		on = []string{"*"}
	}
	first := s.from[t.text]
	if first == "" {
		first = t.text
	}
	return s.member(i, first, on)
}

// maxName is the longest name of a function, in bytes.
const maxName = 200

// member reads the dots and the bracket behind a name or a call.
func (s *scanner) member(i int, name string, on []string) int {
	for s.at(i+1).is(".") && s.at(i+2).kind == 'n' {
		if i += 2; len(name) <= maxName {
			name += "." + s.at(i).text
		}
	}
	c := call{name: name, on: on, at: s.at(i).at}
	top := s.open[len(s.open)-1]
	switch {
	case len(name) > maxName: // a chain that is made to be long
	case s.at(i + 1).is("("):
		i++
		s.open = append(s.open, &frame{call: c})
	case s.at(i+1).kind == 's' && (s.language == "perl" || s.language == "ruby"): // without brackets
		for i++; s.at(i).kind == 's'; i += 2 {
			c.args = append(c.args, []string{s.at(i).text})
			if !s.at(i + 1).is(",") {
				break
			}
		}
		s.calls = append(s.calls, c)
	case name == "sys.executable":
		top.now = append(top.now, "python")
	case name == "sys.argv" && s.at(i+1).is("["):
		n, err := strconv.Atoi(s.at(i + 2).text)
		if i += 3; err == nil && n <= len(s.argv) && n > 0 {
			on = s.argv[n-1 : n]
		}
		top.now = append(top.now, on...)
	default:
		top.now = append(top.now, on...)
	}
	return i
}

// argument ends an argument of a call.
func (f *frame) argument() {
	switch {
	case f.group:
		return
	case f.key != "":
		if f.named == nil {
			f.named = map[string][]string{}
		}
		f.named[f.key] = append(f.now, "*")
	default:
		f.args = append(f.args, f.now)
	}
	f.key, f.now, f.target = "", nil, ""
}

// close ends the open bracket.
func (s *scanner) close(i int) int {
	f := s.open[len(s.open)-1]
	s.bind(f)
	if len(s.open) == 1 {
		return i
	}
	s.open = s.open[:len(s.open)-1]
	top := s.open[len(s.open)-1]
	if f.group {
		if s.at(i + 1).is(".") { // ('a' + b).split()
			return s.member(i, "", few(f.now))
		}
		top.now = append(top.now, few(f.now)...)
		return i
	}
	if f.now != nil || f.key != "" {
		f.argument()
	}
	s.calls = append(s.calls, f.call)
	for n, name := range s.params[f.name] {
		if n < len(f.args) && len(f.args[n]) > 0 {
			s.set(name, f.args[n])
		}
	}
	name := f.name + "()"
	if f.name == "require" && len(f.arg(0)) > 0 {
		name = f.arg(0)[0]
	}
	result := few(f.result())
	if top.origin = name; s.at(i + 1).is(".") {
		return s.member(i, name, result)
	}
	top.now = append(top.now, result...)
	return i
}

// few returns the first strings of a list: each bracket around a long one would copy it.
func few(list []string) []string { return list[:min(len(list), 50)] }

// bind gives the strings behind a name to it.
func (s *scanner) bind(f *frame) {
	if f.target == "" {
		return
	}
	s.set(f.target, slices.Clone(few(f.now[min(f.begin, len(f.now)):])))
	s.from[f.target] = f.origin
	f.target = ""
}

func (s *scanner) set(name string, list []string) {
	size := 0
	for _, text := range list {
		size += len(text)
	}
	if size <= maxValue {
		s.names[name] = list
	}
}

var braces = lazy.Regexp(`\$?\{[^{}]*\}`)

// filled puts the values of names into the braces of a string.
func (s *scanner) filled(text string) string {
	return braces().ReplaceAllStringFunc(text, func(part string) string {
		if list := s.names[strings.Trim(part, "${}")]; len(list) > 0 {
			return list[0]
		}
		return "*"
	})
}

// opaque matches functions whose result has nothing of their arguments.
var opaque = lazy.Regexp(`(?i)^(?:read|run|get|post|len|listdir)|output|popen|system|urlopen`)

// result returns the strings that a call returns.
func (c call) result() []string {
	list := slices.Concat(c.args...)
	if len(c.on) > 0 && c.on[0] != "*" {
		list = slices.Concat(c.on, list)
	}
	switch last := c.last(); {
	case strings.Contains(strings.ToLower(last), "temp"):
		return []string{"/tmp/*"}
	case opaque().MatchString(last), len(list) == 0:
		return []string{"*"}
	case last == "rglob":
		return slices.Concat(c.on, []string{"**"}, c.arg(0))
	case last == "walk":
		return append(list, "**")
	case last == "iterdir" || last == "scandir":
		return append(list, "*")
	}
	return list
}
