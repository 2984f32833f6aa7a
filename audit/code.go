package audit

import (
	"maps"
	"path"
	"slices"
	"strings"

	"batch.example/batch/internal/lazy"
)

// code is a program that a command runs, if the attempt has its text.
type code struct {
	language string // python, node, ruby, perl or php
	text     string
	argv     []string
	calls    []call
}

var (
	// interpreter matches the names of interpreters.
	interpreter = lazy.Regexp(`\b(i?python|pypy|node|ruby|perl|php)[\d.]*(?:js)?$`)
	// textFlags match flags before the text of a program, of Python and of others.
	textFlag  = lazy.Regexp(`^-[a-zA-Z]*c$`)
	textFlags = lazy.Regexp(`^-[a-zA-Z0]*[eE]$|^-[pr]$|^--(?:eval|print)$`)
)

// codeOf returns the program that a command runs: from its arguments, its stdin, or a file that
// the attempt wrote before.
func (r *reader) codeOf(c command) (code, bool) {
	first, args := c.name(), c.args()
	if len(c.words) > 0 && strings.ContainsRune(c.words[0], '/') && interpreter().FindString(first) == "" { // ./script.py
		args = c.words
		first, _, _ = strings.Cut(r.file(c.words[0]), "\n")
	}
	m := interpreter().FindStringSubmatch(first)
	if m == nil {
		return code{}, false
	}
	language, flag := m[1], textFlags()
	if !slices.Contains([]string{"node", "ruby", "perl", "php"}, language) {
		language, flag = "python", textFlag()
	}
	text, argv := c.stdin, []string(nil)
	for i, a := range args {
		if flag.MatchString(a) && i+1 < len(args) {
			text, argv = args[i+1], args[i+2:]
			break
		}
		if a == "-m" && language == "python" && i+1 < len(args) {
			text, argv = r.file(strings.ReplaceAll(args[i+1], ".", "/")+".py"), args[i+2:]
			break
		}
		if !strings.HasPrefix(a, "-") {
			text, argv = r.file(a), args[i+1:]
			break
		}
	}
	return code{language: language, text: text, argv: argv}, text != ""
}

// program follows a program to the commands that it runs and the files that it writes.
func (r *reader) program(p code) {
	if r.parsed += len(p.text); r.parsed > maxParsed && r.depth > 0 {
		return
	}
	p.calls = callsIn(p.language, p.text[:min(len(p.text), maxScript)], p.argv)
	r.codes = append(r.codes, p)
	for _, c := range p.calls {
		for _, file := range c.writes() {
			r.writes = append(r.writes, write{path: r.within(file), text: lineOf(p.text, c.at), data: p.text, removed: removing().MatchString(c.name)})
			if c.last() == "write_text" {
				r.keep(file, strings.Join(c.arg(0), ""))
			}
		}
		if p.language == "python" && (c.name == "exec" || c.name == "eval") {
			r.deeper(nil, func() string {
				r.program(code{language: p.language, text: strings.Join(c.arg(0), "")})
				return ""
			})
		}
		r.called(c, p.text)
	}
}

// running matches functions that run a command or a script, and runningWords those whose arguments
// are the words of a command.
var (
	running      = lazy.Regexp(`^(?:system|popen|run|call|check_call|check_output|Popen|getoutput|getstatusoutput|create_subprocess_shell|exec|execSync|shell_exec|passthru)$`)
	runningWords = lazy.Regexp(`^(?:execFile(?:Sync)?|spawn(?:Sync|lp|vp)?|create_subprocess_exec|exec[lv]pe?|exec[lv])$`)
)

// called follows a call in a program to the command that it runs.
func (r *reader) called(c call, program string) {
	var list []string
	switch last := c.last(); {
	case strings.Contains(c.name, ".git."), last == "iter_commits": // repo.git.log("--all"), repo.iter_commits(all=True)
		list = append([]string{"git", strings.NewReplacer("iter_commits", "log", "_", "-").Replace(last)}, slices.Concat(c.args...)...)
		for _, name := range slices.Sorted(maps.Keys(c.named)) {
			list = append(list, "--"+name)
		}
	case runningWords().MatchString(last):
		list = slices.Concat(c.args...)
		for len(list) > 1 && (list[0] == "*" || list[0] == list[1]) { // a flag, and the name of the program twice
			list = list[1:]
		}
	case running().MatchString(last):
		if list = c.arg(0); c.named["args"] != nil {
			list = c.named["args"]
		}
	}
	if len(list) == 0 || r.steps >= maxSteps {
		return
	}
	r.deeper(nil, func() string {
		if cwd := c.named["cwd"]; cwd != nil {
			r.dir = r.within(cwd[0])
		}
		stdin := strings.TrimSuffix(strings.Join(c.named["input"], ""), "*")
		if len(list) > 1 && !strings.Contains(list[0], " ") {
			return r.run(command{words: list, text: lineOf(program, c.at), stdin: stdin, dir: r.dir})
		}
		return r.script(filledIn(list), stdin)
	})
}

// filledIn joins the strings of a script, which may be a format and what it formats.
func filledIn(list []string) string {
	script := list[0]
	for _, part := range few(list[1:]) {
		if before, after, found := strings.Cut(strings.Replace(script, "{}", "%s", 1), "%s"); found {
			script = before + part + after
		} else {
			script += part
		}
	}
	return script
}

// lineOf returns the line of text that has the byte at an index.
func lineOf(text string, at int) string {
	at = min(at, len(text))
	from := strings.LastIndexByte(text[:at], '\n') + 1
	line, _, _ := strings.Cut(text[from:], "\n")
	return line
}

// Functions that write a file are known by their names, and by which of the arguments is the file.
var (
	writingOn    = lazy.Regexp(`\.(?:write_text|write_bytes|touch|unlink|rename|rmdir)$`)
	writingFirst = lazy.Regexp(`^(?:os|shutil|fs|File|IO|Path|pathlib)\b.*\.(?:remove|unlink|rename|replace|rmtree|truncate|move|unlinkSync|rmSync|renameSync|(?:write|append)File(?:Sync)?|write)$|^file_put_contents$|\.(?:write|append|rm|unlink|rename)(?:File)?Sync$`)
	writingLast  = lazy.Regexp(`^(?:os|shutil|fs)\b.*\.(?:rename|replace|move|renameSync|copy|copy2|copyfile|copytree|copyFileSync)$`)
	removing     = lazy.Regexp(`(?:unlink|remove|rmtree|rename|move|rm|rmdir)(?:Sync)?$`)
)

// writes returns the files that a call writes or removes.
func (c call) writes() (files []string) {
	add := func(list []string) {
		if p := path.Join(list...); p != "" && strings.Trim(p, "*/") != "" {
			files = append(files, p)
		}
	}
	if writingOn().MatchString(c.name) {
		add(c.on)
	}
	if writingFirst().MatchString(c.name) || strings.HasPrefix(c.name, "fileinput.") && c.named["inplace"] != nil {
		add(c.arg(0))
	}
	if writingLast().MatchString(c.name) {
		add(c.arg(1))
	}
	if c.last() != "open" {
		return files
	}
	file, mode := c.arg(0), c.arg(1)
	if len(c.on) > 0 && c.on[0] != "*" { // p.open('w')
		file, mode = c.on, c.arg(0)
	}
	if named := c.named["mode"]; named != nil {
		mode = named
	}
	if len(mode) > 0 && len(mode[0]) <= 3 && strings.ContainsAny(mode[0], "wax+>") {
		add(file)
		add(c.arg(2)) // of Perl
	}
	return files
}

// edit reads a call of an editor, whose arguments are one "name: value" a line.
func (r *reader) edit(arguments string) {
	verb, file := argument(arguments, "command"), argument(arguments, "path")
	if file == "" || verb == "view" || verb == "undo" || verb == "undo_edit" {
		return
	}
	_, text, _ := strings.Cut(arguments, "\nfile_text: ")
	r.keep(file, text)
	r.writes = append(r.writes, write{path: r.within(file), text: "command: " + verb + ", path: " + file, data: arguments})
}

func argument(arguments, name string) string {
	_, rest, _ := strings.Cut("\n"+arguments, "\n"+name+": ")
	rest, _, _ = strings.Cut(rest, "\n")
	return rest
}
