package audit

import (
	"cmp"
	"slices"
	"strings"
)

// wrappers are commands that run the command in their arguments, with the letters of flags that have a
// value in the next word.
var wrappers = map[string]string{
	"env": "uCS", "sudo": "ugCpht", "timeout": "sk", "nohup": "", "setsid": "", "builtin": "", "time": "fo", "nice": "n", "ionice": "cnp", "stdbuf": "ioe", "exec": "a",
	"command": "", "unbuffer": "", "chronic": "", "doas": "uC", "xargs": "nPILdEsa", "parallel": "jNn", "busybox": "", "strace": "eopsP", "watch": "n", "flock": "w",
}

// runners are programs with a command run that runs another one.
var runners = []string{"conda", "mamba", "micromamba", "uv", "poetry", "pipenv", "hatch", "rye"}

var shells = []string{"bash", "sh", "dash", "zsh", "ksh", "ash"}

// run follows a command to what it runs, and returns what that prints, if its text says so.
func (r *reader) run(c command) string {
	for r.steps++; r.steps < maxSteps; r.steps++ {
		name, args := c.name(), c.args()
		valued, wraps := wrappers[name]
		body := r.funcs[name]
		switch {
		case body != nil:
			return r.deeper(args, func() string { return r.stmt(body, c.stdin) })
		case (name == "cd" || name == "pushd") && len(args) > 0:
			r.dir = r.within(args[len(args)-1])
		case slices.Contains(shells, name), name == "su" || name == "script":
			if script, rest := r.scriptOf(c); script != "" {
				return r.inner(script, c.stdin, rest...)
			}
		case name == "eval":
			return r.inner(strings.Join(args, " "), c.stdin, r.vars["@"].List...)
		case (name == "source" || name == ".") && len(args) > 0:
			return r.inner(r.file(args[0]), c.stdin, args[1:]...)
		case name == "find":
			r.executed(c)
		case slices.Contains(runners, name) && len(args) > 1 && args[0] == "run":
			if rest := wrapped(args[1:], "np"); len(rest) > 0 {
				c.words = rest
				continue
			}
		case wraps && !(name == "command" && len(args) > 0 && strings.HasPrefix(args[0], "-")): // it only asks
			rest := wrapped(args, valued)
			if name == "timeout" || name == "flock" { // a time, a file
				rest = rest[min(1, len(rest)):]
			}
			if len(rest) > 0 {
				if c.words = rest; name == "xargs" || name == "parallel" {
					c = r.filled(c, args)
				}
				continue
			}
		case len(c.words) > 0 && strings.ContainsRune(c.words[0], '/') && isScript(r.file(c.words[0])):
			return r.inner(r.file(c.words[0]), c.stdin, args...)
		}
		return r.add(c)
	}
	return ""
}

// isScript reports whether a file that is run by its name is for a shell.
func isScript(text string) bool {
	first, _, _ := strings.Cut(text, "\n")
	return text != "" && (!strings.HasPrefix(first, "#!") || strings.Contains(first, "sh"))
}

// wrapped returns the arguments behind flags and NAME=VALUE.
func wrapped(args []string, valued string) []string {
	for len(args) > 0 && (strings.HasPrefix(args[0], "-") || strings.Contains(args[0], "=")) {
		n := 1
		if len(args[0]) == 2 && strings.Contains(valued, args[0][1:]) {
			n = 2
		}
		args = args[min(n, len(args)):]
	}
	return args
}

// filled puts the words that xargs reads into its command.
func (r *reader) filled(c command, flags []string) command {
	mark := "{}"
	for i, a := range flags {
		next := flags[min(i+1, len(flags)-1)]
		if rest, found := strings.CutPrefix(a, "-I"); found {
			mark = cmp.Or(rest, next)
		}
		if a == "-a" {
			c.stdin = r.file(next)
		}
	}
	read := strings.Fields(strings.ReplaceAll(c.stdin, "\x00", "\n"))
	c.stdin = ""
	if len(read) == 0 {
		return c
	}
	read = read[:min(len(read), maxFields)]
	words, found := substituted(c.words, mark, read)
	if c.words = words; !found {
		c.words = append(words, read...)
	}
	return c
}

// substituted puts values in the place of a mark in words.
func substituted(words []string, mark string, values []string) (list []string, found bool) {
	joined := strings.Join(values, " ")
	joined = joined[:min(len(joined), maxValue)]
	for _, w := range words {
		if found = found || strings.Contains(w, mark); w == mark {
			list = append(list, values...)
		} else {
			list = append(list, strings.ReplaceAll(w, mark, joined))
		}
	}
	return list, found
}

// scriptOf returns the script that a shell runs, and its arguments.
func (r *reader) scriptOf(c command) (script string, rest []string) {
	args := c.args()
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-o" || a == "+o":
			i++
		case strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.HasSuffix(a, "c") && i+1 < len(args):
			return args[i+1], args[min(i+3, len(args)):]
		case !strings.HasPrefix(a, "-"):
			return r.file(a), args[i+1:]
		}
	}
	return c.stdin, nil
}

// executed follows the commands of find -exec.
func (r *reader) executed(c command) {
	args := c.args()
	found := foundBy(args)
	for i, a := range args {
		if !slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, a) {
			continue
		}
		n := slices.IndexFunc(args[i+1:], func(w string) bool { return w == ";" || w == "+" })
		if n > 0 {
			inner := c
			inner.words, _ = substituted(args[i+1:i+1+n], "{}", found)
			inner.redirects = nil
			r.deeper(nil, func() string { return r.run(inner) })
		}
	}
}

// add keeps a command, with the code that it runs and the files that it writes, and returns what
// it prints.
func (r *reader) add(c command) string {
	r.commands = append(r.commands, c)
	r.writes = append(r.writes, r.writesOf(c)...)
	switch c.name() {
	case "tee":
		for _, p := range operands(c.args()) {
			r.keep(p, c.stdin)
		}
	case "cp", "mv":
		from, to := copies(c.args())
		for _, p := range to {
			r.keep(p, r.file(from[0]))
		}
	}
	if code, ok := r.codeOf(c); ok {
		r.program(code)
	}
	return r.printed(c)
}
