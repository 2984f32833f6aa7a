package audit

import (
	"slices"
	"strings"

	"batch.example/batch/audit/shell"
	"batch.example/batch/internal/lazy"
)

// findNetwork finds commands and code that reach another host.
func findNetwork(t *task, h *hits) {
	for i := range t.actions {
		a := &t.actions[i]
		for _, c := range a.commands {
			if reaches(c) {
				h.command(a, c, "")
			}
			for _, r := range c.Redirects {
				if host, found := strings.CutPrefix(r.Target, "/dev/tcp/"); found && !isLocal(host) {
					h.command(a, c, r.Target)
				}
			}
		}
		for _, c := range a.codes {
			if line := c.reaches(); line != "" {
				h.add(a, line, "")
			}
		}
	}
}

// clients are programs whose operands are hosts or addresses.
var clients = []string{"curl", "wget", "aria2c", "http", "https", "ftp", "sftp", "scp", "ssh", "telnet", "nc", "ncat", "netcat", "rsync", "lynx", "links", "w3m"}

// installers are programs that download packages, and their commands that do so.
var installers = map[string][]string{
	"conda": {"install", "create", "update", "search"}, "mamba": {"install", "create", "update", "search"}, "micromamba": {"install", "create", "update"},
	"apt": {"install", "update", "upgrade", "source", "download"}, "apt-get": {"install", "update", "upgrade", "source", "download"},
	"apk": {"add", "update"}, "yum": {"install", "update"}, "dnf": {"install", "update"},
	"npm": {"install", "i", "ci", "add", "update", "view", "pack"}, "yarn": {"add", "install"}, "pnpm": {"add", "install", "i"},
	"cargo": {"install", "fetch", "update", "add"}, "gem": {"install", "fetch"}, "bundle": {"install", "update"},
	"composer": {"install", "require", "update"}, "poetry": {"add", "install", "update"}, "gh": nil,
}

// reaches reports whether a command reaches another host.
func reaches(c shell.Command) bool {
	name, args := c.Name(), c.Args()
	plain := operands(args)
	switch {
	case len(plain) == 0 || slices.Contains(args, "--help") || slices.Contains(args, "--version") || slices.Contains(args, "--offline"):
		return name == "yarn" && len(args) == 0
	case slices.Contains(clients, name):
		return slices.ContainsFunc(addresses(name, args), func(p string) bool { return isRemote(name, p) })
	case name == "git":
		return gitReaches(gitArgs(args))
	case name == "go":
		return plain[0] == "get" || plain[0] == "install" && strings.Contains(c.Text, "@") || plain[0] == "mod" && len(plain) > 1 && plain[1] == "download"
	}
	if args, ok := pipArgs(c); ok {
		return pipReaches(args)
	}
	verbs, known := installers[name]
	return known && (verbs == nil || slices.Contains(verbs, plain[0]))
}

// clientValued are the flags of curl and wget with a value in the next word, by their letters.
var clientValued = map[string]string{"curl": "odHXuAebcFTwmKEPrtzCQ", "wget": "OoPUtTwQ", "aria2c": "od"}

// curlSwitches are the long flags of curl that are often used and have no value.
var curlSwitches = []string{"--silent", "--location", "--fail", "--insecure", "--head", "--compressed", "--verbose", "--show-error", "--remote-name", "--get", "--include", "--url"}

// addresses returns the operands of a client that may be addresses: no values of flags.
func addresses(client string, args []string) (list []string) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		long := client == "curl" && strings.HasPrefix(a, "--") && !strings.Contains(a, "=") && !slices.Contains(curlSwitches, a)
		short := len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.Contains(clientValued[client], a[len(a)-1:])
		switch {
		case long, short:
			i++
		case !strings.HasPrefix(a, "-"):
			list = append(list, a)
		}
	}
	return list
}

// isRemote reports whether an operand of a client names another host.
func isRemote(client, operand string) bool {
	switch client {
	case "scp", "rsync", "sftp":
		host, _, found := strings.Cut(operand, ":")
		return found && !strings.Contains(host, "/") && !isLocal(host)
	case "nc", "ncat", "netcat", "telnet", "ssh", "ftp":
		return !isLocal(operand) && strings.Trim(operand, "0123456789-") != ""
	}
	return !isLocal(operand) && (strings.Contains(operand, "://") || strings.HasPrefix(operand, "$") || hostName().MatchString(operand))
}

// hostName matches a host, with a path perhaps. The last letters are not a file's ending.
var hostName = lazy.Regexp(`(?i)^(?:[\w-]+\.)+(?:com|org|net|io|dev|edu|gov|ai|co|app|me|de|uk|eu|fr|ru|cn|jp|ch|nl|info|sh)(?::\d+)?(?:[/?#].*)?$`)

// localAddress matches the beginning of an address on this machine.
var localAddress = lazy.Regexp(`(?i)^(?:\w+://)?(?:[^/@]*@)?(?:localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[?::1\]?|testserver|[^/]*\.(?:local|localhost|test|invalid|example))(?:[:/?#]|$)|^file:|^unix:`)

func isLocal(address string) bool { return localAddress().MatchString(address) }

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

// requesting matches where code opens a connection. The address is in one of the groups.
var requesting = lazy.Regexp(`(?:urlopen|urlretrieve|\brequests\.(?:get|post|put|head|request|delete|patch)|\bhttpx\.(?:get|post|stream)|` +
	`\b(?:HTTPS?Connection|create_connection)|\bfetch|\bhttps?\.get|Net::HTTP\.get|URI\.open)\(+\s*(?:['"](?:GET|POST|HEAD)['"]\s*,\s*)?[rbuf]?(?:['"]([^'"\n]+)['"]|(\w+))`)

// urlNamed matches where code gives an address a name.
var urlNamed = lazy.Regexp(`(?m)^\s*(?:const |let |var )?(\w+)\s*=\s*[rbuf]?['"](https?://[^'"\n]+)['"]`)

// mocked matches code that answers its requests itself.
var mocked = lazy.Regexp(`\b(?:requests_mock|responses|httpretty|vcr|nock|MockTransport|monkeypatch|mock)\b`)

// reaches returns the part of code that reaches another host; empty if there is none.
func (c code) reaches() string {
	if mocked().MatchString(c.text) {
		return ""
	}
	names := map[string]string{}
	for _, m := range urlNamed().FindAllStringSubmatch(c.text, -1) {
		names[m[1]] = m[2]
	}
	for _, m := range requesting().FindAllStringSubmatch(c.text, -1) {
		address := m[1] + names[m[2]]
		host := strings.Contains(m[0], "onnection(") && strings.Contains(address, ".")
		if (host || strings.Contains(address, "://")) && !isLocal(address) {
			return m[0]
		}
	}
	return ""
}
