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
	"composer": {"install", "require", "update"}, "poetry": {"add", "install", "update"}, "gh": nil, "uv": {"sync", "lock"},
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
var curlSwitches = []string{
	"--silent", "--location", "--fail", "--insecure", "--head", "--compressed", "--verbose", "--show-error", "--remote-name", "--get", "--include", "--url",
	"--tlsv1.2", "--tlsv1.3", "--ipv4", "--ipv6", "--http1.1", "--http2", "--progress-bar", "--no-progress-meter", "--fail-with-body", "--globoff",
}

// curlValued matches the long flags of curl with a value that may look like an address.
var curlValued = lazy.Regexp(`^--(?:data(?:-\w+)?|json|form(?:-string)?|(?:proxy-)?header|(?:pre)?proxy|socks\w+(?:-hostname)?|referer|user(?:-agent)?|cookie|write-out|url-query|request-target|variable)$`)

// addresses returns the operands of a client that may be addresses: no values of flags.
func addresses(client string, args []string) (list []string) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		long := client == "curl" && strings.HasPrefix(a, "--") && !strings.Contains(a, "=") && !slices.Contains(curlSwitches, a)
		short := len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.Contains(clientValued[client], a[len(a)-1:])
		switch {
		case long && i+1 < len(args) && strings.Contains(args[i+1], "://") && !curlValued().MatchString(a): // it may have no value
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
