package audit

import (
	"cmp"
	"errors"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"batch.example/batch/internal/lazy"
)

// command is a simple command of a script, as far as the script's text says what it is.
type command struct {
	words     []string // the name and its arguments, without quotes; there may be none
	assigns   []string // NAME=VALUE before the name
	redirects []redirect
	stdin     string // what it reads, if that is known
	text      string // as it is written, without here documents
	dir       string // where it runs; empty: where the attempt began
}

// redirect is a redirection of a file.
type redirect struct {
	op     syntax.RedirOperator
	target string
	other  bool // it is not of stdout
}

// name returns the command's name without folders; empty for a command without words.
func (c command) name() string {
	first := strings.Join(c.words[:min(1, len(c.words))], "")
	return first[strings.LastIndexByte(first, '/')+1:]
}

// args returns the words after the name.
func (c command) args() []string { return c.words[min(1, len(c.words)):] }

// The limits keep a script that is made to be expensive from taking more than its length allows.
const (
	maxScript   = 1 << 18 // bytes that are read of a script
	maxNesting  = 1000    // open brackets in a script
	maxDepth    = 10      // scripts in scripts, and functions in functions
	maxSteps    = 20_000  // statements of an action, with repetitions
	maxRounds   = 16      // rounds of a loop
	maxFields   = 1000    // words of a command
	maxValue    = 2048    // bytes of a variable
	maxExpanded = 1 << 20 // bytes of all uses of variables
	maxParsed   = 1 << 22 // bytes of all scripts and programs of an action
)

// reader finds the commands in a script without running it. All branches are taken, and loops have the
// rounds that the text names. Variables that the script does not set stay as they are written.
type reader struct {
	files  map[string]string // what the attempt wrote so far, by path
	vars   map[string]expand.Variable
	funcs  map[string]*syntax.Stmt
	src    string
	dir    string
	depth  int
	steps  int
	copied int // bytes of variables
	parsed int // bytes of scripts and programs

	commands []command
	codes    []code
	writes   []write
}

func newReader(files map[string]string) *reader {
	return &reader{files: files, vars: map[string]expand.Variable{}, funcs: map[string]*syntax.Stmt{}}
}

// script reads a script, and returns what it prints, if its text says so.
func (r *reader) script(text, stdin string) string {
	if r.parsed += len(text); r.parsed > maxParsed && r.depth > 0 {
		return ""
	}
	src := r.src
	defer func() { r.src = src }()
	var out strings.Builder
	text = strings.ToValidUTF8(text[:min(len(text), maxScript)], "\ufffd") // the parser refuses other bytes
	for range 10 {                                                         // after a mistake, the next line is read
		r.src = text[:shallow(text)]
		file, err := syntax.NewParser(syntax.RecoverErrors(10)).Parse(strings.NewReader(r.src), "")
		var mistake syntax.ParseError
		wrong := errors.As(err, &mistake)
		if end := unended().FindStringSubmatch(mistake.Text); end != nil { // bash takes all of the rest
			text = r.src + "\n" + end[1]
			continue
		}
		out.WriteString(r.inside(file, stdin))
		_, rest, found := strings.Cut(text[min(int(mistake.Pos.Offset()), len(text)):], "\n")
		if !wrong || !found {
			break
		}
		text = rest
	}
	return out.String()
}

// unended matches the message about a here document without its last line.
var unended = lazy.Regexp("^unclosed here-document [`'](.*)[`']$")

// shallow returns how much of a script has no more than the allowed open brackets: the parser
// calls itself for each.
func shallow(text string) int {
	open := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{', '`', '[':
			open++
		case ')', '}', ']', '\n':
			open = max(0, open-1)
		}
		if open > maxNesting {
			return i
		}
	}
	return len(text)
}

// deeper reads what is called, if that is not too deep. What it sets ends with it.
func (r *reader) deeper(args []string, read func() string) string {
	if r.depth >= maxDepth {
		return ""
	}
	vars, dir := r.vars, r.dir
	r.vars = maps.Clone(vars)
	r.depth++
	defer func() { r.vars, r.dir, r.depth = vars, dir, r.depth-1 }()
	for i, a := range args {
		r.set(strconv.Itoa(i+1), a)
	}
	r.vars["@"] = expand.Variable{Set: true, Kind: expand.Indexed, List: slices.Clone(args)}
	return read()
}

// inner reads a script that runs in a process of its own.
func (r *reader) inner(text, stdin string, args ...string) string {
	return r.deeper(args, func() string { return r.script(text, stdin) })
}

// inside reads the statements in a node, in order.
func (r *reader) inside(node syntax.Node, stdin string) string {
	var out strings.Builder
	syntax.Walk(node, func(n syntax.Node) bool {
		s, ok := n.(*syntax.Stmt)
		if ok {
			out.WriteString(r.stmt(s, stdin))
		}
		return !ok
	})
	return out.String()
}

// stmt reads a statement, and returns what it prints to stdout.
func (r *reader) stmt(s *syntax.Stmt, stdin string) string {
	if r.steps++; r.steps >= maxSteps {
		return ""
	}
	c := command{dir: r.dir, stdin: stdin}
	switch s.Cmd.(type) {
	case *syntax.TimeClause, *syntax.CoprocClause: // their ends are looked for inside, at each level
	default:
		c.text = r.textOf(s)
	}
	for _, redir := range s.Redirs {
		switch {
		case redir.Hdoc != nil:
			c.stdin = r.document(redir.Hdoc)
		case redir.Op == syntax.WordHdoc:
			c.stdin = r.joined(redir.Word) + "\n"
		case redir.Word != nil:
			target := r.joined(redir.Word)
			if redir.Op == syntax.RdrIn {
				c.stdin = r.file(target)
			}
			c.redirects = append(c.redirects, redirect{redir.Op, target, redir.N != nil && redir.N.Value != "1"})
		}
	}
	out := r.cmd(s.Cmd, c)
	for _, d := range c.redirects {
		if d.writes() && !d.other {
			if d.op == syntax.AppOut || d.op == syntax.AppAll {
				out = r.file(d.target) + out
			}
			r.keep(d.target, out)
			out = ""
		}
	}
	return out
}

// cmd reads what a statement runs. C has its redirections.
func (r *reader) cmd(node syntax.Command, c command) string {
	if call, ok := node.(*syntax.CallExpr); ok {
		for _, a := range call.Assigns {
			c.assigns = append(c.assigns, r.assign(a))
		}
		c.words = r.fields(call.Args...)
		return r.run(c)
	}
	if len(c.redirects) > 0 { // of a loop, a block or of nothing
		r.add(c)
	}
	switch x := node.(type) {
	case nil:
		return ""
	case *syntax.BinaryCmd:
		if x.Op == syntax.Pipe || x.Op == syntax.PipeAll {
			return r.stmt(x.Y, r.stmt(x.X, c.stdin))
		}
	case *syntax.Subshell:
		dir := r.dir
		defer func() { r.dir = dir }()
	case *syntax.WhileClause:
		if name := readBy(x); name != "" {
			return r.rounds(name, strings.Split(strings.TrimSpace(c.stdin), "\n"), x.Do)
		}
	case *syntax.ForClause:
		if over, ok := x.Loop.(*syntax.WordIter); ok {
			return r.rounds(over.Name.Value, r.fields(over.Items...), x.Do)
		}
	case *syntax.FuncDecl:
		r.funcs[x.Name.Value] = x.Body
		return ""
	case *syntax.DeclClause:
		c.words = []string{x.Variant.Value}
		for _, a := range x.Args {
			c.words = append(c.words, r.assign(a))
		}
		return r.add(c)
	}
	return r.inside(node, c.stdin)
}

// readBy returns the variable of a loop over the lines of stdin.
func readBy(x *syntax.WhileClause) string {
	if len(x.Cond) > 0 {
		if call, ok := x.Cond[0].Cmd.(*syntax.CallExpr); ok && len(call.Args) > 1 && call.Args[0].Lit() == "read" {
			return call.Args[len(call.Args)-1].Lit()
		}
	}
	return ""
}

// rounds reads the body of a loop, once for each value of its variable.
func (r *reader) rounds(name string, values []string, body []*syntax.Stmt) string {
	var out strings.Builder
	for i := 0; i < max(1, min(len(values), maxRounds)); i++ {
		if i < len(values) {
			r.set(name, values[i])
		}
		for _, s := range body {
			out.WriteString(r.stmt(s, ""))
		}
	}
	return out.String()
}

// assign sets a variable, and returns NAME=VALUE.
func (r *reader) assign(a *syntax.Assign) string {
	if a.Name == nil {
		return r.joined(a.Value)
	}
	name, value := a.Name.Value, r.joined(a.Value)
	switch {
	case a.Array != nil:
		var words []*syntax.Word
		for _, e := range a.Array.Elems {
			if e.Value != nil {
				words = append(words, e.Value)
			}
		}
		r.vars[name] = expand.Variable{Set: true, Kind: expand.Indexed, List: r.fields(words...)}
	case a.Append:
		r.set(name, r.vars[name].String()+value)
	case !a.Naked:
		r.set(name, value)
	}
	return name + "=" + value
}

func (r *reader) set(name, value string) {
	if len(value) > maxValue {
		delete(r.vars, name)
		return
	}
	r.vars[name] = expand.Variable{Set: true, Kind: expand.String, Str: value}
}

// Get is the value of a variable for package expand.
func (r *reader) Get(name string) expand.Variable {
	if v, known := r.vars[name]; known {
		for _, s := range append(v.List, v.Str) {
			r.copied += len(s)
		}
		if r.copied > maxExpanded {
			return expand.Variable{}
		}
		return v
	}
	unknown := expand.Variable{Set: true, Kind: expand.String, Str: "$" + name}
	switch first, user, _ := strings.Cut(name, " "); first {
	case "IFS":
		unknown.Str = " \t\n"
	case "HOME":
		unknown.Str = "~" + user
	}
	return unknown
}

// Each is for package expand, which needs no list of variables here.
func (r *reader) Each(func(string, expand.Variable) bool) {}

// writes reports whether the file of a redirection is written. Another descriptor is no file.
func (d redirect) writes() bool {
	switch d.op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll, syntax.RdrClob, syntax.RdrInOut:
		return true
	case syntax.DplOut:
		return strings.Trim(d.target, "0123456789-") != ""
	}
	return false
}

// config expands words without a look at this machine.
func (r *reader) config() *expand.Config {
	return &expand.Config{Env: r, CmdSubst: func(w io.Writer, x *syntax.CmdSubst) error {
		out := r.deeper(r.vars["@"].List, func() string { return r.inside(x, "") })
		_, err := io.WriteString(w, cmp.Or(out, "$()"))
		return err
	}, ProcSubst: func(x *syntax.ProcSubst) (string, error) {
		const pipe = "/dev/fd/63"
		r.files[pipe] = r.deeper(r.vars["@"].List, func() string { return r.inside(x, "") })
		return pipe, nil
	}}
}

// fields expands words.
func (r *reader) fields(words ...*syntax.Word) (list []string) {
	for _, w := range words {
		r.expand(w, &list, func(cfg *expand.Config) error {
			for field, err := range expand.FieldsSeq(cfg, w) {
				if err != nil || len(list) > maxFields {
					return err
				}
				list = append(list, field)
			}
			return nil
		})
	}
	return list
}

// joined expands a word that is not split.
func (r *reader) joined(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	return strings.Join(r.fields(w), " ")
}

// document expands a here document.
func (r *reader) document(w *syntax.Word) string {
	var list []string
	r.expand(w, &list, func(cfg *expand.Config) error {
		text, err := expand.Document(cfg, w)
		list = append(list, text)
		return err
	})
	return list[0]
}

// expand expands a word. One that cannot be expanded stays as it is written: package expand
// panics at some of the errors that bash reports.
func (r *reader) expand(w *syntax.Word, list *[]string, expansion func(*expand.Config) error) {
	src, old := r.between(w.Pos(), w.End()), *list
	defer func() {
		if recover() != nil {
			*list = append(old, src)
		}
	}()
	long := len(src) > 2*maxValue && strings.Contains(src, "${") // a replacement in it may be often used
	if long || expansion(r.config()) != nil {
		*list = append(old, src)
	}
}

// textOf returns a statement as it is written, without here documents and what ends it.
func (r *reader) textOf(s *syntax.Stmt) string {
	end := s.Pos()
	if s.Cmd != nil {
		end = s.Cmd.End()
	}
	for _, redir := range s.Redirs {
		if redir.Word != nil && redir.Word.End().After(end) {
			end = redir.Word.End()
		}
	}
	return r.between(s.Pos(), end)
}

func (r *reader) between(from, to syntax.Pos) string {
	end := min(int(to.Offset()), len(r.src))
	return r.src[min(int(from.Offset()), end):end]
}

// file returns what is in a file, if the attempt wrote it.
func (r *reader) file(p string) string { return r.files[r.within(p)] }

// keep remembers what is in a file.
func (r *reader) keep(p, text string) {
	if text != "" {
		r.files[r.within(p)] = text[:min(len(text), maxScript)]
	}
}

func (r *reader) within(p string) string { return within(r.dir, p) }

// within returns a path as it is from the first directory. Images of SWE-bench have the
// repository in /testbed.
func within(dir, p string) string {
	if dir != "" && !path.IsAbs(p) {
		p = path.Join(dir, p)
	}
	p = path.Clean(p)
	if p == "/testbed" {
		return "."
	}
	return strings.TrimPrefix(p, "/testbed/")
}
