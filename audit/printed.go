package audit

import (
	"encoding/base64"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"

	"batch.example/batch/internal/lazy"
)

// printed returns roughly what a command writes to stdout, if its text says so. Names of files
// that are not known are patterns, as a shell has them.
func (r *reader) printed(c command) string {
	args := c.args()
	plain := operands(args)
	switch c.name() {
	case "echo":
		return echoed(args)
	case "printf":
		return formatted(args)
	case "cat", "head", "tail", "sort", "uniq", "tac":
		if len(plain) == 0 {
			return c.stdin
		}
		var out strings.Builder
		for _, p := range plain {
			out.WriteString(r.file(p))
		}
		return out.String()
	case "tee", "tr", "cut", "sed", "awk":
		return c.stdin
	case "base64":
		text, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(c.stdin), ""))
		if err == nil {
			return string(text)
		}
	case "find":
		return strings.Join(foundBy(args), "\n")
	case "ls":
		if len(plain) == 0 || !isFileName(plain[0]) && !strings.Contains(plain[0], "*") { // of a folder
			return "*"
		}
		return strings.Join(plain, "\n")
	case "git":
		switch git := gitArgs(args); {
		case len(git) == 0:
		case git[0] == "ls-files":
			return strings.Join(below(operands(git[1:])), "\n")
		case slices.Contains([]string{"branch", "tag", "for-each-ref", "show-ref"}, git[0]) && !slices.Contains(git, "--show-current"):
			return allRefs
		}
	case "grep", "egrep", "fgrep", "rg":
		if slices.ContainsFunc(args, func(a string) bool { return a == "--files-with-matches" || isFlags(a) && strings.ContainsAny(a, "lL") }) {
			return strings.Join(below(plain[min(1, len(plain)):]), "\n")
		}
		return c.stdin
	}
	return ""
}

// echoed returns what echo prints.
func echoed(args []string) string {
	escaped := false
	for len(args) > 0 && isFlags(args[0]) && strings.Trim(args[0][1:], "neE") == "" {
		escaped = escaped || strings.Contains(args[0], "e")
		args = args[1:]
	}
	text := strings.Join(args, " ")
	if escaped {
		text, _, _ = expand.Format(nil, strings.ReplaceAll(text, "%", "%%"), nil) //nolint:errcheck // the text is then empty
	}
	return text + "\n"
}

// width matches a width in a format that would be a long text.
var width = lazy.Regexp(`\d{4}|\*`)

// formatted returns what printf prints.
func formatted(args []string) string {
	if len(args) == 0 || width().MatchString(args[0]) {
		return ""
	}
	var out strings.Builder
	for rest := args[1:]; ; {
		text, used, err := expand.Format(nil, args[0], rest)
		out.WriteString(text)
		if rest = rest[min(used, len(rest)):]; err != nil || used == 0 || len(rest) == 0 {
			return out.String()
		}
	}
}

// foundBy returns what find prints: patterns of the names that it looks for.
func foundBy(args []string) (list []string) {
	n := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") || a == "(" || a == "!" })
	if n < 0 {
		n = len(args)
	}
	dirs := args[:n]
	if n == 0 {
		dirs = []string{"."}
	}
	names := []string{}
	for i := n; i+1 < len(args); i++ {
		not := i > 0 && (args[i-1] == "!" || args[i-1] == "-not") || slices.Contains(args[i:], "-prune")
		if !not && slices.Contains([]string{"-name", "-iname", "-path", "-wholename"}, args[i]) {
			names = append(names, args[i+1])
		}
	}
	if len(names) == 0 {
		names = []string{"*"}
	}
	for _, d := range dirs {
		for _, name := range names {
			if strings.Contains(name, "/") {
				list = append(list, strings.ReplaceAll(name, "*", "**"))
			} else {
				list = append(list, path.Join(d, "**", name))
			}
		}
	}
	return list
}

// below returns patterns of the files that are in paths.
func below(paths []string) (list []string) {
	for _, p := range append(paths, "")[:max(1, len(paths))] {
		list = append(list, p, path.Join(p, "**", "*"))
	}
	return list
}
