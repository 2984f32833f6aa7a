package shell

import (
	"path"
	"slices"
	"strings"
)

// wrapper is a command that runs the command in its arguments.
type wrapper struct {
	valued  string // letters of flags with a value in the next word
	before  int    // words between the flags and the command
	assigns bool   // NAME=VALUE before the command
}

var wrappers = map[string]wrapper{
	"env": {valued: "uCS", assigns: true}, "sudo": {valued: "ugCpht", assigns: true}, "timeout": {valued: "sk", before: 1},
	"nohup": {}, "setsid": {}, "builtin": {}, "time": {valued: "fo"}, "nice": {valued: "n"}, "ionice": {valued: "cnp"},
	"stdbuf": {valued: "ioe"}, "exec": {valued: "a"}, "command": {}, "unbuffer": {}, "chronic": {}, "doas": {valued: "uC"},
	"xargs": {valued: "nPILdEs"}, "busybox": {},
}

// runners are programs with a command run that runs another one.
var runners = []string{"conda", "mamba", "micromamba", "uv", "poetry", "pipenv", "hatch", "rye"}

var shells = []string{"bash", "sh", "dash", "zsh", "ksh", "ash"}

// add appends a command, or the commands in it.
func (r *reader) add(c Command, depth int) {
	for len(r.list) < maxCommands {
		name := c.Name()
		w, wraps := wrappers[name]
		switch {
		case name == "cd" || name == "pushd":
			r.change(c.Args())
		case slices.Contains(shells, name):
			if script, found := scriptOf(c); found {
				r.within(script, depth)
				return
			}
		case name == "eval":
			args := c.Args()
			for len(args) > 1 && args[0] == "eval" { // once is enough
				args = args[1:]
			}
			r.read(strings.Join(args, " "), depth+1)
			return
		case name == "find":
			r.executed(c, depth)
		case name == "for" || name == "case" || name == "select" || name == "function":
			return
		case slices.Contains(runners, name) && len(c.Words) > 2 && c.Words[1] == "run":
			if rest := (wrapper{valued: "np"}).rest(c.Words[2:]); len(rest) > 0 {
				c.Words = rest
				continue
			}
		case wraps:
			if rest := w.rest(c.Args()); len(rest) > 0 && !asks(name, c.Args()) {
				c.Words = rest
				if name == "xargs" {
					c.Stdin = "" // xargs reads it
				}
				continue
			}
		}
		r.list = append(r.list, c)
		return
	}
}

// within reads a script in another shell, in which a cd ends with it.
func (r *reader) within(script string, depth int) {
	dir := r.dir
	r.read(script, depth+1)
	r.dir = dir
}

func (r *reader) change(args []string) {
	if len(args) == 0 {
		r.dir = ""
		return
	}
	if to := args[len(args)-1]; path.IsAbs(to) || r.dir == "" {
		r.dir = path.Clean(to)
	} else {
		r.dir = path.Join(r.dir, to)
	}
}

// asks reports whether a command only asks where another one is.
func asks(name string, args []string) bool {
	return name == "command" && strings.HasPrefix(strings.ToLower(args[0]), "-v")
}

// rest returns the wrapped command.
func (w wrapper) rest(args []string) []string {
	for len(args) > 0 {
		a := args[0]
		_, _, assigns := assignment(a)
		switch {
		case strings.HasPrefix(a, "-") && len(a) == 2 && strings.Contains(w.valued, a[1:]):
			args = args[min(2, len(args)):]
		case a == "--":
			return args[1:]
		case strings.HasPrefix(a, "-"), w.assigns && assigns:
			args = args[1:]
		default:
			return args[min(w.before, len(args)):]
		}
	}
	return nil
}

// scriptOf returns the script in the arguments or the here document of a shell.
func scriptOf(c Command) (script string, found bool) {
	args := c.Args()
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-o" || a == "+o":
			i++
		case strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.HasSuffix(a, "c") && i+1 < len(args):
			return args[i+1], true
		case !strings.HasPrefix(a, "-"):
			return "", false // a file
		}
	}
	return c.Stdin, c.Stdin != ""
}

// unescaped replaces escapes of echo and printf.
var unescaped = strings.NewReplacer(`\n`, "\n", `\t`, "\t")

// printed returns roughly what echo or printf writes to a pipe. It has each word once: a format is not
// repeated, and all arguments are at its first %s.
func (c Command) printed() string {
	args := c.Args()
	for len(args) > 1 && strings.HasPrefix(args[0], "-") {
		args = args[1:]
	}
	switch {
	case len(args) == 0 || len(c.Redirects) > 0:
	case c.Name() == "echo":
		return unescaped.Replace(strings.Join(args, " "))
	case c.Name() == "printf":
		return strings.Replace(unescaped.Replace(args[0]), "%s", strings.Join(args[1:], "\n"), 1)
	}
	return ""
}

// executed adds the commands of find -exec.
func (r *reader) executed(c Command, depth int) {
	args := c.Args()
	for i, a := range args {
		if !slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, a) {
			continue
		}
		n := slices.IndexFunc(args[i+1:], func(w string) bool { return w == ";" || w == "+" })
		if n > 0 && depth < maxDepth {
			inner := c
			inner.Words, inner.Redirects = args[i+1:i+1+n], nil
			r.add(inner, depth+1)
		}
	}
}

func base(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }
