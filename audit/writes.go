package audit

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"batch.example/batch/audit/diff"
	"batch.example/batch/audit/shell"
	"batch.example/batch/internal/lazy"
)

// write is a file that an action writes, changes or removes.
type write struct {
	path string // as the command has it, behind the directory that it changed to
	text string // the command
	data string // what is written; empty if it is not in the command

	removed, copied bool // it is removed; it is a file that was there before
}

// writesOf returns the files that a command writes, if its words say so.
func writesOf(c shell.Command) (list []write) {
	add := func(paths ...string) {
		for _, p := range paths {
			if p != "" && !strings.HasPrefix(p, "/dev/") && !strings.HasPrefix(p, "&") {
				list = append(list, write{path: within(c.Dir, p), text: c.Text, data: c.Stdin})
			}
		}
	}
	for _, r := range c.Redirects {
		if strings.Contains(r.Op, ">") && (r.Op != ">&" || strings.Trim(r.Target, "0123456789-") != "") {
			add(r.Target)
		}
	}
	plain := operands(c.Args())
	switch c.Name() {
	case "tee", "truncate":
		add(plain...)
	case "rm", "unlink":
		n := len(list)
		add(plain...)
		for i := range list[n:] {
			list[n+i].removed = true
		}
	case "sed", "perl":
		if slices.ContainsFunc(c.Args(), inPlace) {
			add(scripted(c.Args())...)
		}
	case "cp", "mv", "install", "ln":
		n := len(list)
		add(destinations(plain)...)
		if c.Name() == "mv" && len(plain) > 1 {
			add(plain[:len(plain)-1]...)
		}
		for i := range list[n:] {
			list[n+i].copied = true
		}
	case "dd":
		for _, a := range c.Args() {
			if to, found := strings.CutPrefix(a, "of="); found {
				add(to)
			}
		}
	case "patch", "git":
		if c.Name() == "patch" || slices.Contains(plain, "apply") || slices.Contains(plain, "am") {
			for _, f := range diff.Read(c.Stdin) {
				add(f.Path)
			}
		}
		if c.Name() == "git" && len(plain) > 1 && (plain[0] == "rm" || plain[0] == "mv") {
			add(plain[1:]...)
		}
	}
	return list
}

// within returns a path as it is from the first directory.
func within(dir, p string) string {
	if dir == "" || path.IsAbs(p) {
		return path.Clean(p)
	}
	return path.Join(dir, p)
}

// operands returns the arguments that are not flags.
func operands(args []string) []string {
	var list []string
	for i, a := range args {
		if a == "--" {
			return append(list, args[i+1:]...)
		}
		if !strings.HasPrefix(a, "-") || a == "-" {
			list = append(list, a)
		}
	}
	return list
}

// inPlace reports whether an argument of sed or perl is -i, alone or with other flags.
func inPlace(a string) bool {
	if strings.HasPrefix(a, "--") {
		return strings.HasPrefix(a, "--in-place")
	}
	if !strings.HasPrefix(a, "-") {
		return false
	}
	flags, _, _ := strings.Cut(a[1:], ".") // -i.bak
	return strings.Contains(flags, "i") && strings.Trim(flags, "Enrzspi0lw") == "" || strings.HasPrefix(a, "-i")
}

// scripted returns the files in the arguments of sed or perl: the operands behind the
// script, which is the first of them unless a flag has it.
func scripted(args []string) []string {
	var list []string
	given := false
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-e" || a == "-f" || a == "--expression" || a == "--file" || len(a) > 2 && a[0] == '-' && a[1] != '-' && strings.HasSuffix(a, "e") && !strings.Contains(a, "."):
			given = true
			i++
		case strings.HasPrefix(a, "-e") || strings.HasPrefix(a, "--expression="):
			given = true
		case a == "" || strings.HasPrefix(a, "-"): // -i ” of BSD
		default:
			list = append(list, a)
		}
	}
	if !given && len(list) > 0 {
		list = list[1:]
	}
	return list
}

// destinations returns what cp writes: the last operand, and if it is a directory the files in it.
func destinations(plain []string) []string {
	if len(plain) < 2 {
		return nil
	}
	to := plain[len(plain)-1]
	list := []string{to}
	for _, from := range plain[:len(plain)-1] {
		if path.Base(from) != path.Base(to) {
			list = append(list, path.Join(to, path.Base(from)))
		}
	}
	return list
}

// opened matches how Python code opens a file to write, by a literal or by a name.
var opened = lazy.Regexp(`\bopen\(\s*(?:[rbuf]?['"]([^'"\n]+)['"]|(\w+))\s*,\s*(?:mode\s*=\s*)?['"][wax][bt+]*['"]|` +
	`\b(?:pathlib\.)?Path\(\s*['"]([^'"\n]+)['"]\s*\)\.write_(?:text|bytes)\(|\b(\w+)\.write_(?:text|bytes)\(`)

// named matches where Python code gives a path a name.
var named = lazy.Regexp(`(?m)^\s*(\w+)\s*=\s*(?:(?:pathlib\.)?Path\()?\s*['"]([^'"\n]+)['"]`)

// writes returns the files that code writes, if it has their names as text.
func (c code) writes() (list []write) {
	if c.language != "python" {
		return nil
	}
	names := map[string]string{}
	for _, m := range named().FindAllStringSubmatch(c.text, -1) {
		names[m[1]] = m[2]
	}
	for _, m := range opened().FindAllStringSubmatch(c.text, -1) {
		p := m[1] + m[3] + names[m[2]] + names[m[4]]
		if p != "" && !strings.Contains(p, "{") {
			list = append(list, write{path: within(c.command.Dir, p), text: m[0], data: c.text})
		}
	}
	return list
}

// editorWrites returns the file that a call of an editor changes. Arguments are one "name: value"
// a line.
func editorWrites(arguments string) []write {
	verb, file := argument(arguments, "command"), argument(arguments, "path")
	if file == "" || verb == "view" || verb == "undo" || verb == "undo_edit" {
		return nil
	}
	return []write{{path: path.Clean(file), text: "command: " + verb + ", path: " + file, data: arguments}}
}

var argumentLine = map[string]func() *regexp.Regexp{
	"command": lazy.Regexp(`(?m)^command: (\w+)$`), "path": lazy.Regexp(`(?m)^path: (.+)$`),
}

func argument(arguments, name string) string {
	if m := argumentLine[name]().FindStringSubmatch(arguments); m != nil {
		return m[1]
	}
	return ""
}

// is reports whether the file is at a path of the repository.
func (w write) is(relative string) bool {
	return !w.outside() && (w.path == relative || strings.HasPrefix(w.path, "/") && strings.HasSuffix(w.path, "/"+relative))
}

// outside reports whether the file is in a folder of the system, where no repository is.
func (w write) outside() bool {
	return slices.ContainsFunc([]string{"/tmp/", "/var/", "/usr/", "/etc/"}, func(dir string) bool { return strings.HasPrefix(w.path, dir) })
}
