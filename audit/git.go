package audit

import (
	"strings"
)

// gitArgs returns git's command and its arguments, without flags before the command.
func gitArgs(args []string) []string {
	return behindFlags(args, []string{"-C", "-c", "--git-dir", "--work-tree"})
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
