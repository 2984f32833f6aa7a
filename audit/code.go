package audit

import (
	"path"
	"strings"

	"batch.example/batch/audit/shell"
)

// code is a program that a command runs, if the attempt has its text.
type code struct {
	language string // python, node, ruby or perl
	text     string
	command  shell.Command
}

// same reports whether two commands run the same program in the same directory.
func (c code) same(other code) bool {
	return c.text == other.text && c.language == other.language && c.command.Dir == other.command.Dir
}

// languages are the interpreters, and the flags before a program's text.
var languages = []struct {
	prefix, language string
	flags            []string
}{
	{"python", "python", []string{"-c"}},
	{"pypy", "python", []string{"-c"}},
	{"ipython", "python", []string{"-c"}},
	{"node", "node", []string{"-e", "-p", "--eval", "--print"}},
	{"ruby", "ruby", []string{"-e"}},
	{"perl", "perl", []string{"-e", "-E"}},
}

// codeOf returns the program that a command runs: from its arguments, its stdin, or a file that
// the attempt wrote before.
func codeOf(c shell.Command, scripts map[string]string) (code, bool) {
	for _, l := range languages {
		rest, found := strings.CutPrefix(c.Name(), l.prefix)
		if !found || strings.Trim(rest, "0123456789.js") != "" {
			continue
		}
		text := programIn(c, l.flags, scripts)
		return code{l.language, text, c}, text != ""
	}
	if len(c.Words) > 0 && strings.ContainsRune(c.Words[0], '/') { // ./script.py
		if text := scripts[within(c.Dir, c.Words[0])]; strings.HasPrefix(text, "#!") && strings.Contains(text[:min(len(text), 60)], "python") {
			return code{"python", text, c}, true
		}
	}
	return code{}, false
}

func programIn(c shell.Command, flags []string, scripts map[string]string) string {
	args := c.Args()
	for i, a := range args {
		for _, f := range flags {
			if a == f && i+1 < len(args) {
				return args[i+1]
			}
		}
		switch {
		case a == "-":
			return c.Stdin
		case a == "-m":
			return ""
		case !strings.HasPrefix(a, "-"):
			return scripts[path.Clean(within(c.Dir, a))]
		}
	}
	return c.Stdin
}
