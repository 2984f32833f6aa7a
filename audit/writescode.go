package audit

import (
	"path"
	"regexp"
	"strings"

	"batch.example/batch/internal/lazy"
)

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
	names, seen := map[string]string{}, map[string]bool{}
	for _, m := range named().FindAllStringSubmatch(c.text, -1) {
		names[m[1]] = m[2]
	}
	for _, m := range opened().FindAllStringSubmatch(c.text, -1) {
		p := m[1] + m[3] + names[m[2]] + names[m[4]]
		if p != "" && !strings.Contains(p, "{") && !seen[p] {
			seen[p] = true
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
