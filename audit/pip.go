package audit

import (
	"slices"
	"strings"

	"batch.example/batch/audit/shell"
)

// pipArgs returns the command of pip, or of pipx or uv that is like it, and its arguments. Flags before
// the command are left out.
func pipArgs(c shell.Command) ([]string, bool) {
	name, args := c.Name(), c.Args()
	switch {
	case strings.HasPrefix(name, "python") && len(args) > 2 && args[0] == "-m" && args[1] == "pip":
		args = args[2:]
	case name == "uv":
		args = behindFlags(args, pipValued)
		switch {
		case len(args) == 0 || args[0] != "add" && args[0] != "pip" && args[0] != "tool":
			return nil, false
		case args[0] != "add":
			args = args[1:]
		}
	case name == "pipx": // its -f has no value
		args = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "-f" })
	case strings.HasPrefix(name, "pip") && strings.Trim(name[3:], "0123456789.") == "":
	default:
		return nil, false
	}
	return behindFlags(args, pipValued), true
}

// pipValued are flags of pip, pipx and uv with a value that is not a requirement.
var pipValued = []string{
	"-c", "--constraint", "-t", "--target", "-d", "--dest", "-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--python", "-w", "--wheel-dir", "--timeout", "--retries", "--prefix", "--root", "--progress-bar",
	"--cache-dir", "--proxy", "--log", "--cert", "--client-cert", "--trusted-host", "--exists-action", "--keyring-provider", "--use-feature", "--use-deprecated",
	"-p", "--directory", "--project", "--config-file", "--color", "--group", "--optional", "--extra", "--index", "--default-index", "--pip-args",
}

// pipReaches reports whether pip asks an index. What it needs to build a local project is not
// counted.
func pipReaches(args []string) bool {
	if len(args) == 0 || slices.Contains(args, "--no-index") {
		return false
	}
	switch args[0] {
	case "install", "download", "wheel", "add", "inject", "sync":
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
