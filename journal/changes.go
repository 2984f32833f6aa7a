package journal

import (
	"slices"
	"strings"

	"batch.example/batch/internal/lazy"
)

// editsFile matches commands that change files, at the beginning of a command or after a
// separator. It is a guess: a command may change files in any other way, or fail.
var editsFile = lazy.Regexp(`(?:^|[\n;&|(]|\b(?:then|do|else|sudo|xargs|exec)\s)\s*(?:` +
	`(?:sed|perl|ruby|gsed)\s(?:[^\n;&|]*\s)?-[a-zA-Z0-9.]*i|` +
	`sed\s[^\n;&|]*--in-place|` +
	`tee\s+(?:-a\s+|--append\s+)?[^\s/-]|tee\s+(?:-a\s+)?/[^d\s]|` +
	`patch\b|git\s+apply\b|git\s+am\b|apply_patch\b|applypatch\b|` +
	`str_replace_editor\s+(?:create|str_replace|insert|undo_edit)\b|` +
	`(?:edit|insert|create)\s+\S|` +
	`ed\s+-?s?\s*\S|ex\s+-s|` +
	`(?:cat|echo|printf)\b[^\n;&|]*[^0-9&<>=-]>{1,2}\s*["']?(?:[^\s/&>"'|]|/[^d\s])` +
	`)`)

// writesFile matches programs, usually in a here-document, that write files.
var writesFile = lazy.Regexp(`\.write_text\(|\.write_bytes\(|open\([^)\n]*,\s*(?:mode=)?["'][wax]\+?b?["']|writeFileSync\(|File\.write\(`)

// commandChanges reports whether a command seems to change a file: with an editor of a kind that
// agents have, sed -i, a redirection of cat or echo, tee, patch, git apply, or a program that
// opens a file to write.
func commandChanges(command string) bool {
	if !slices.ContainsFunc(editWords, func(word string) bool { return strings.Contains(command, word) }) {
		return false // most commands, found out fast
	}
	return editorScript().MatchString(command) || editsFile().MatchString(command) || writesFile().MatchString(command)
}

// editWords are parts of everything that the expressions match.
var editWords = []string{
	">", "sed", "perl", "ruby", "tee", "patch", "apply", "git", "edit", "insert", "create", "undo", "ed ", "ed\t", "ex ", "ex\t",
	"write", "open(", "refuse()",
}

// editorScript matches what batch's tool editor runs, except to view a file.
var editorScript = lazy.Regexp(`^path=[^\n]+\nsay\(\) [^\n]+\nrefuse\(\) [^\n]+\n(?:text|old|line|LC_ALL)=`)

// ChangesFile guesses from its text whether a command, or a call of another tool than the shell, changes a
// file. tool is empty for a command; otherwise text is the tool's arguments, one "name: value" a line, or in
// JSON.
func ChangesFile(tool, text string) bool {
	name := strings.ToLower(tool)
	switch {
	case name == "bash" || name == "":
		return commandChanges(text)
	case name == "editor" || strings.Contains(name, "str_replace") || strings.Contains(name, "edit_anthropic") || name == "edit_tool":
		return !viewsOnly().MatchString(text)
	}
	for _, word := range []string{"edit", "write", "create", "patch", "replace", "insert"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

var viewsOnly = lazy.Regexp(`command"?\s*[:=]\s*"?view\b`)
