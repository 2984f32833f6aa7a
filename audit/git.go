package audit

import (
	"strings"
)

// gitArgs returns git's command and its arguments, without flags before the command.
func gitArgs(args []string) []string {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		n := 1
		if args[0] == "-C" || args[0] == "-c" || args[0] == "--git-dir" || args[0] == "--work-tree" {
			n = 2
		}
		args = args[min(n, len(args)):]
	}
	return args
}

// gitReaches reports whether a command of git reaches a remote.
func gitReaches(args []string) bool {
	if len(args) == 0 {
		return false
	}
	plain := operands(args[1:])
	first := ""
	if len(plain) > 0 {
		first = plain[0]
	}
	switch args[0] {
	case "clone":
		return isURL(first)
	case "fetch", "pull", "push", "ls-remote":
		return !strings.HasPrefix(first, ".") && !strings.HasPrefix(first, "/") && !strings.HasPrefix(first, "file:")
	case "remote":
		return first == "update"
	case "submodule":
		return first == "update" || first == "add"
	}
	return false
}

// isURL reports whether the operand of git clone is on another host.
func isURL(s string) bool {
	return strings.Contains(s, "://") && !isLocal(s) || strings.Contains(s, "@") && strings.Contains(s, ":") || strings.HasPrefix(s, "$")
}
