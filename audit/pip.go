package audit

import (
	"slices"
	"strings"

	"batch.example/batch/audit/shell"
)

// pipArgs returns pip's command and its arguments.
func pipArgs(c shell.Command) ([]string, bool) {
	name, args := c.Name(), c.Args()
	switch {
	case strings.HasPrefix(name, "python") && len(args) > 2 && args[0] == "-m" && args[1] == "pip":
		return args[2:], true
	case name == "uv" && len(args) > 1 && args[0] == "pip":
		return args[1:], true
	case strings.HasPrefix(name, "pip") && strings.Trim(name[3:], "0123456789.") == "":
		return args, true
	}
	return nil, false
}

// pipValued are flags of pip with a value that is not a requirement.
var pipValued = []string{"-c", "--constraint", "-t", "--target", "-d", "--dest", "-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--python", "-w", "--wheel-dir", "--timeout", "--retries", "--prefix", "--root", "--progress-bar"}

// pipReaches reports whether pip asks an index. What it needs to build a local project is not
// counted.
func pipReaches(args []string) bool {
	if len(args) == 0 || slices.Contains(args, "--no-index") {
		return false
	}
	switch args[0] {
	case "install", "download", "wheel":
	case "index", "search":
		return true
	default:
		return false
	}
	for i := 1; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-r" || a == "--requirement" || strings.HasPrefix(a, "--requirement="):
			return true
		case slices.Contains(pipValued, a):
			i++
		case strings.HasPrefix(a, "-"):
		case !isLocalProject(a):
			return true
		}
	}
	return false
}

// isLocalProject reports whether a requirement is a path.
func isLocalProject(a string) bool {
	if strings.Contains(a, "://") {
		return isLocal(strings.TrimPrefix(a, "git+"))
	}
	return strings.HasPrefix(a, ".") || strings.HasPrefix(a, "/") || strings.HasPrefix(a, "~") || strings.HasSuffix(a, "/") ||
		strings.HasSuffix(a, ".whl") || strings.HasSuffix(a, ".tar.gz")
}
