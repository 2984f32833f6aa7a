package evaluate

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"batch.example/batch/internal/bash"
	"batch.example/batch/internal/lazy"
)

const (
	scriptDepth = 3       // nesting of files that run or import files
	scriptsRead = 1 << 20 // bytes of the files at one depth
	mostWords   = 1000    // words of a command that are examined
)

// Ran is a file that the processes of the test command read before the tests, as the names in the
// command and in the files that it reads are resolved. It need not exist: a patch may create it.
type Ran struct {
	// Path is relative to the working directory, and may be a pattern. If Module is set, it lacks the
	// extension, or is the folder of a package.
	Path   string
	Module bool
	// From is the folder in which the name was found, if the file may be the code under test: a
	// script imports it, or a command or setting has its name without running it for sure.
	From string `json:",omitempty"`
	// Outside says that it is more likely code under test than a part of the runner: it is not in the
	// folder of the file that imports it, or only has a name that settings have.
	Outside bool `json:",omitempty"`
}

// names reports whether a path is the file.
func (r Ran) names(name string) bool {
	if match, _ := path.Match(r.Path, name); !r.Module || match || name == r.Path {
		return match || name == r.Path
	}
	stem := strings.TrimSuffix(name, path.Ext(name))
	return stem == r.Path || stem == r.Path+"/__init__" || stem == r.Path+"/__main__" || stem == r.Path+"/index"
}

// decides reports whether a change is one of the file. An import may find the code under test. The
// gold patch shows where that is: beside the script, or in the same folder of the repository.
func (r Ran) decides(c Change, gold []string) bool {
	if r.From == "" || !r.names(c.Path) {
		return r.names(c.Path)
	}
	code := r.From
	if code == "." || r.Outside {
		first, _, nested := strings.Cut(c.Path, "/")
		if !nested {
			return true
		}
		if len(gold) == 0 {
			return false
		}
		code = first
	}
	return !slices.ContainsFunc(gold, func(name string) bool { return strings.HasPrefix(name, code+"/") && !IsTest(name) })
}

// start finds what the processes of a command read first.
type start struct {
	workdir string
	tests   []string // the test patch's files, whose imports are not the runner's
	ran     []Ran
	known   map[Ran]bool
	text    string   // of the commands
	read    []source // files to read next
	asked   map[string]bool
	folders []string // that come first on Python's path
	django  []string // settings that are named
}

// source is a file whose text names other files.
type source struct {
	name string
	top  string // the folder that comes first on Python's path when it is imported or run
}

func newStart(workdir string, tests []string) *start {
	return &start{workdir: workdir, tests: tests, known: map[Ran]bool{}, asked: map[string]bool{}}
}

// readFiles prints the regular files among its arguments, each after a NUL, its name and a newline,
// and for a link also the name of the file that it is.
const readFiles = `for f; do [ -f "$f" ] && { [ -L "$f" ] && printf '\0%s\n' "$(readlink -f "$f")"; printf '\0%s\n' "$f"; head -c 200000 "$f" | tr -d '\000'; }; done 2>/dev/null; :`

// starts returns what the processes of the job's test command read first, from the image before the
// patch is applied, and the folders that come first on Python's path.
func (r *runner) starts(ctx context.Context) (ran []Ran, folders []string, err error) {
	s := newStart(r.job.Workdir, r.job.TestFiles)
	s.command(r.job.command(), ".")
	s.settings(r.job.command())
	for range scriptDepth {
		next := s.read
		if s.read = nil; len(next) == 0 {
			break
		}
		words, top := []string{"set --"}, map[string]string{}
		for _, f := range next {
			words, top[f.name] = append(words, bash.Quote(f.name)), f.top
		}
		out, err := r.setupWith(ctx, strings.Join(words, " ")+"\n"+readFiles, scriptsRead)
		if err != nil {
			return nil, nil, err
		}
		for file := range strings.SplitSeq(string(out.Bytes), "\x00") {
			name, text, ok := strings.Cut(file, "\n")
			if real := s.local(".", name); ok && path.IsAbs(name) && real != "" {
				s.add(Ran{Path: real})
			} else if ok {
				s.file(source{name, top[name]}, text)
			}
		}
		s.options("", nil) // the scripts' folders come first too
	}
	return s.ran, s.folders, nil
}

// command returns the command that runs the tests.
func (j Job) command() string { return cmp.Or(j.Command, testCommand(j.Script)) }

// words returns the parts of a command that may be names.
func words(command string) []string {
	list := strings.FieldsFunc(command, func(c rune) bool { return strings.ContainsRune(" \t\r\n'\"()|&;<>=,", c) })
	return slices.Compact(list)
}

func (s *start) add(r Ran) {
	if !s.known[r] && r.Path != "." && !strings.HasPrefix(r.Path, "../") {
		s.known[r] = true
		s.ran = append(s.ran, r)
	}
}

func (s *start) open(name, top string) {
	if !s.asked[name] && !strings.HasPrefix(name, "../") && len(s.asked) < mostWords {
		s.asked[name] = true
		s.read = append(s.read, source{name, top})
	}
}

var (
	// assigned and variable match the assignments and variables of shells and of make.
	assigned = lazy.Regexp(`(?m)(?:^|[\s;&(])(\w+)[ \t]*[:?]?=[ \t]*["']?([\w./:-]+)`)
	variable = lazy.Regexp(`\$(?:\w+|\{\w+\}|\(\w+\))`)
	// itself matches the name of the script, and folder what makes a folder of a name.
	itself    = lazy.Regexp(`\$(?:0\b|\{0\}|BASH_SOURCE\b|\{BASH_SOURCE(?:\[0\])?\})`)
	folder    = lazy.Regexp(`\$\(\s*(dirname|realpath|readlink -f|cd)\s+(?:--\s+)?["']?([^\s"'$()&;]+)["']?(?:\s*(?:&&|;)\s*pwd[^)]*)?\s*\)`)
	comment   = lazy.Regexp(`(?m)(?:^|\s)#.*$`)
	marks     = lazy.Regexp(`\b((?:py\.?test|git)\b[^\n;&|]*?\s)-m\s+\S+`)
	searched  = lazy.Regexp(`(?:^|[\s;&])PATH=["']?([^\s"';]+)`)
	goRun     = lazy.Regexp(`\bgo run\s+(?:-\S+\s+)*["']?(\./[\w./-]+)`)
	changed   = lazy.Regexp(`\b(?:cd|pushd)\s+["']?([^\s"';&|)]+)|\s-C\s*["']?([^\s"';&|)]+)|--directory[ =]["']?([^\s"';&|)]+)`)
	pythonRun = lazy.Regexp(`\s-[A-Za-z]*m\s*([A-Za-z_][\w.]*)`)
	pythonAt  = lazy.Regexp(`\bPYTHONPATH=["']?([^\s"';]+)`)
	plugins   = lazy.Regexp(`(?:^|\s|["'=])-p[\s"',]*([A-Za-z_][\w.]*)|\bPYTEST_PLUGINS=["']?([\w.,]+)`)
	option    = lazy.Regexp(`(?:\bDJANGO_SETTINGS_MODULE|--ds|--settings)[= ]["']?([A-Za-z_][\w.]*)`)
)

// within returns the folders in which the parts of a command may run.
func (s *start) within(text string) []string {
	dirs := []string{"."}
	for _, m := range changed().FindAllStringSubmatch(text, -1) {
		for _, dir := range slices.Clone(dirs) {
			if dir = s.local(dir, cmp.Or(m[1], m[2], m[3])); !slices.Contains(dirs, dir) && len(dirs) < 20 {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

// command examines a command, or the text of a shell script. Own is the script.
func (s *start) command(text, own string) {
	text = s.expand(comment().ReplaceAllString(text, ""), own)
	s.text += text + "\n"
	dirs := s.within(text)
	for _, m := range searched().FindAllStringSubmatch(text, -1) {
		for dir := range strings.SplitSeq(m[1], ":") {
			if dir = s.local(".", dir); dir != "" && dir != "." {
				s.add(Ran{Path: dir + "/*"})
			}
		}
	}
	for _, m := range goRun().FindAllStringSubmatch(text, -1) {
		s.add(Ran{Path: path.Join(m[1], "*")})
	}
	started := map[string]bool{}
	for _, m := range led().FindAllStringSubmatch(text, -1) {
		started[cmp.Or(m[1], m[2], m[3])] = true
	}
	list := words(text)
	for _, word := range list[:min(len(list), mostWords)] {
		for _, dir := range dirs {
			name := s.local(dir, strings.TrimPrefix(word, "@")) // a file of arguments
			if name == "" || strings.Contains(word, "*") && !strings.Contains(word, "/") {
				continue
			}
			r := Ran{Path: name, Outside: strings.Contains(name, "*")}
			if !started[word] {
				r.From = topFolder(name)
			}
			s.add(r)
			isTest := slices.Contains(s.tests, name) || namedTest().MatchString(path.Base(name)) && !started[word]
			if strings.ContainsAny(name, "/.") && !isTest {
				s.open(name, path.Dir(name))
			}
		}
	}
	for _, dir := range dirs {
		s.required(text, dir)
		for _, m := range led().FindAllStringSubmatch(text, -1) {
			if name := s.local(dir, cmp.Or(m[1], m[2], m[3])); path.Ext(name) == "" {
				s.script(name)
			}
		}
	}
	tops := slices.Clone(dirs)
	for _, m := range pythonAt().FindAllStringSubmatch(text, -1) {
		for dir := range strings.SplitSeq(m[1], ":") {
			if dir = s.local(".", dir); dir != "" && !slices.Contains(tops, dir) {
				tops = append(tops, dir)
				s.first(dir)
			}
		}
	}
	for _, dir := range tops {
		for _, m := range pythonRun().FindAllStringSubmatch(marks().ReplaceAllString(text, "$1"), -1) {
			s.module(dir, m[1])
			s.first(dir)
		}
		for _, m := range plugins().FindAllStringSubmatch(text, -1) {
			for name := range strings.SplitSeq(cmp.Or(m[1], m[2]), ",") {
				s.module(dir, name)
			}
		}
		s.imports(text, dir, dir, true)
	}
	s.options(text, tops)
}

// options adds the settings of Django that a text names, in some folders or in any that comes first
// on Python's path.
func (s *start) options(text string, dirs []string) {
	for _, m := range option().FindAllStringSubmatch(text, -1) {
		s.django = append(s.django, m[1])
	}
	for _, name := range s.django {
		for _, dir := range slices.Concat(dirs, s.folders) {
			s.module(dir, name)
		}
	}
}

// expand replaces the variables that a command sets itself, the working directory, and the folder
// of the script.
func (s *start) expand(text, own string) string {
	text = strings.NewReplacer("$(pwd)", s.workdir, "`pwd`", s.workdir, "$(git rev-parse --show-toplevel)", s.workdir,
		"${0%/*}", "$(dirname $0)", "${BASH_SOURCE%/*}", "$(dirname $0)", "${BASH_SOURCE[0]%/*}", "$(dirname $0)").Replace(text)
	text = itself().ReplaceAllLiteralString(text, path.Join(s.workdir, own))
	for range scriptDepth { // a value may have others
		text = folder().ReplaceAllStringFunc(text, func(call string) string {
			m := folder().FindStringSubmatch(call)
			if m[1] == "dirname" {
				return path.Dir(m[2])
			}
			return path.Clean(m[2])
		})
		values := map[string]string{"PWD": s.workdir}
		for _, m := range assigned().FindAllStringSubmatch(text, -1) {
			values[m[1]] = m[2]
		}
		text = variable().ReplaceAllStringFunc(text, func(v string) string { return cmp.Or(values[strings.Trim(v, "${}()")], v) })
	}
	return text
}

// local returns the path of a word in a directory of the repository, relative to the repository, or
// "".
func (s *start) local(dir, word string) string {
	if path.IsAbs(word) {
		rest, ok := strings.CutPrefix(path.Clean(word), s.workdir)
		if !ok || rest != "" && rest[0] != '/' {
			return ""
		}
		dir, word = ".", "./"+rest
	}
	return path.Join(dir, word)
}

func (s *start) first(dir string) {
	if dir != "" && !slices.Contains(s.folders, dir) {
		s.folders = append(s.folders, dir)
	}
}

// module adds a module that a command or setting names, and the packages that it is in.
func (s *start) module(top, name string) {
	file := path.Join(top, strings.ReplaceAll(name, ".", "/"))
	s.add(Ran{Path: file, Module: true})
	for dir := path.Dir(file); dir != top && dir != "."; dir = path.Dir(dir) {
		s.add(Ran{Path: dir + "/__init__", Module: true, From: top})
	}
	s.openModule(file, top)
}

func (s *start) openModule(file, top string) {
	for _, end := range []string{".py", "/__init__.py", "/__main__.py"} {
		s.open(file+end, top)
	}
}
