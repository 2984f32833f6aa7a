package audit

import (
	"slices"
	"strings"

	"batch.example/batch/internal/lazy"
)

// findNetwork finds commands and code that reach another host.
func findNetwork(_ *task, h *hits) {
	h.each(reaches, code.reaches)
}

// clients are programs whose operands are hosts or addresses.
var clients = []string{"curl", "wget", "aria2c", "http", "https", "ftp", "sftp", "scp", "ssh", "telnet", "nc", "ncat", "netcat", "rsync", "lynx", "links", "w3m", "svn", "hg", "deno", "socat", "openssl", "dig", "nslookup", "ping"}

// installing matches programs that download packages, with their commands that do so.
var installing = lazy.Regexp(`^(?:(?:conda|mamba|micromamba) (?:install|create|update|search)|(?:apt|apt-get|apk|yum|dnf|zypper|brew|snap) (?:install|add|update|upgrade|source|download)|(?:npm|pnpm) (?:install|i|ci|add|update|view|pack)|` +
	`easy_install \S+|bun (?:add|install|x)|yarn(?: add| install|$)|cargo (?:install|fetch|update|add)|gem (?:install|fetch)|bundle (?:install|update)|composer (?:install|require|update)|poetry (?:add|install|update)|uv (?:sync|lock)|gh \w+|` +
	`go (?:get|mod download|(?:run|install) \S*@))\b`)

// reaches returns the word of a command that reaches another host; empty if there is none.
func reaches(c command) string {
	name, args := c.name(), c.args()
	for _, redir := range c.redirects {
		if host, found := strings.CutPrefix(strings.Replace(redir.target, "/udp/", "/tcp/", 1), "/dev/tcp/"); found && !isLocal(host) {
			return redir.target
		}
	}
	if slices.Contains(args, "--help") || slices.Contains(args, "--version") || slices.Contains(args, "--offline") {
		return ""
	}
	pip, ok := pipArgs(c)
	if ok && pipReaches(pip) || name == "git" && gitReaches(gitArgs(args)) || installing().MatchString(strings.Join(append([]string{name}, operands(args)...), " ")) ||
		slices.Contains(clients, name) && slices.ContainsFunc(addresses(name, args), func(p string) bool { return isRemote(name, p) }) {
		return c.words[0]
	}
	return ""
}

// clientValued are the flags of curl, wget and aria2c with a value that may look like an address.
var clientValued = lazy.Regexp(`^--(?:data(?:-\w+)?|json|form(?:-string)?|(?:proxy-)?header|(?:pre)?proxy|socks\w+(?:-hostname)?|referer|user(?:-agent)?|cookie|write-out|url-query|request-target|variable|output(?:-document)?)$|^-[a-zA-Z]*[odHXuAebcFTwmKEPQU]$`)

// addresses returns the operands of a client that may be addresses: no values of flags.
func addresses(client string, args []string) (list []string) {
	for i := 0; i < len(args); i++ {
		valued := slices.Contains([]string{"curl", "wget", "aria2c"}, client) && clientValued().MatchString(args[i])
		switch {
		case valued || client == "wget" && args[i] == "-O":
			i++
		case !strings.HasPrefix(args[i], "-"):
			list = append(list, args[i])
		}
	}
	return list
}

// isRemote reports whether an operand of a client names another host.
func isRemote(client, operand string) bool {
	switch client {
	case "socat": // TCP:host:port
		_, operand, _ = strings.Cut(operand, ":")
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

var fetching = lazy.Regexp(`^(?:fetch|pull|push|ls-remote)(?: [^./ ]\S*)*$|^remote update|^submodule (?:update|add)`)

// gitReaches reports whether a command of git reaches a remote.
func gitReaches(args []string) bool {
	plain := operands(args)
	line := strings.Join(plain, " ")
	return fetching().MatchString(line) && !strings.Contains(line, "file:") || strings.HasPrefix(line, "clone ") && slices.ContainsFunc(plain, isURL)
}

// isURL reports whether the operand of git clone is on another host.
func isURL(s string) bool {
	host, _, found := strings.Cut(s, ":")
	return strings.Contains(s, "://") && !isLocal(s) || found && !strings.Contains(host, "/") && !isLocal(host) || strings.HasPrefix(s, "$")
}

// pipArgs returns the command of pip, or of pipx or uv that is like it, and its arguments. Flags before
// the command are left out.
func pipArgs(c command) ([]string, bool) {
	name, args := c.name(), c.args()
	switch {
	case strings.HasPrefix(name, "python") && len(args) > 2 && args[0] == "-m" && args[1] == "pip":
		args = args[2:]
	case name == "uv":
		args = behindFlags(args, pipValued())
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
	return behindFlags(args, pipValued()), true
}

// pipValued are flags of pip, pipx and uv with a value that is not a requirement.
var pipValued = lazy.Regexp(`^-[cdfitwp]$|^--(?:constraint|target|dest|(?:extra-|default-)?index(?:-url)?|find-links|python|wheel-dir|timeout|retries|prefix|root|progress-bar|cache-dir|proxy|log|cert|client-cert|trusted-host|` +
	`exists-action|keyring-provider|use-feature|use-deprecated|directory|project|config-file|color|group|optional|extra|pip-args)$`)

// pipReaches reports whether pip asks an index. What it needs to build a local project is not
// counted.
func pipReaches(args []string) bool {
	if len(args) == 0 || slices.Contains(args, "--no-index") {
		return false
	}
	switch args[0] {
	case "index", "search":
		return true
	case "install", "download", "wheel", "add", "inject", "sync":
	default:
		return false
	}
	for rest := args[1:]; ; rest = rest[1:] {
		if rest = behindFlags(rest, pipValued()); len(rest) == 0 {
			return false
		}
		if !isLocalProject(rest[0]) {
			return true
		}
	}
}

// isLocalProject reports whether a requirement is a path.
func isLocalProject(a string) bool {
	if strings.Contains(a, "://") {
		return isLocal(strings.TrimPrefix(a, "git+"))
	}
	return strings.HasPrefix(a, ".") || strings.HasPrefix(a, "/") || strings.HasPrefix(a, "~") || strings.HasSuffix(a, "/") ||
		strings.HasSuffix(a, ".whl") || strings.HasSuffix(a, ".tar.gz")
}

var (
	// requesting matches functions that open a URL.
	requesting = lazy.Regexp(`(?:^|\.)(?:urlopen|urlretrieve|fetch|file_get_contents|curl_init|fopen|getprint|getstore|mirror|clone_from|hf_hub_download|snapshot_download)$|` +
		`^(?:requests|httpx|aiohttp|urllib3|axios|got|https?|Net\.HTTP|URI|HTTParty|Faraday|LWP|wget)\b.*\.(?:get|post|put|head|request|delete|patch|stream|open|get_response|download|urlopen)$|^(?:axios|got|get|open)$`)
	// connecting matches functions that connect to a host.
	connecting = lazy.Regexp(`(?:^|\.)(?:HTTPS?Connection|create_connection|connect|connect_ex|open_connection|fsockopen|TCPSocket\.(?:new|open)|gethostbyname|getaddrinfo)$|^IO\.Socket\..*new$`)
)

// reaches returns where code reaches another host. What the code itself answers does not count.
func (p code) reaches() (at []int) {
	answered := map[string]bool{}
	for _, c := range p.calls {
		last := c.last()
		stub := last == "patch" || last == "setattr" || strings.HasSuffix(c.name, "patch.object")
		if stub || c.named["status_code"] != nil || strings.HasPrefix(c.name, "responses.") || strings.HasPrefix(c.name, "requests_mock.") {
			for _, text := range slices.Concat(c.args...) {
				answered[text] = text != "*"
				if stub {
					answered[call{name: text}.last()] = text != "*"
				}
			}
		}
	}
	for _, c := range p.calls {
		list := slices.Concat(c.arg(0), c.arg(1), c.named["url"])
		local := slices.ContainsFunc(list, func(text string) bool { return isLocal(text) || answered[text] })
		if local || answered[c.last()] || len(list) == 0 {
			continue
		}
		url := slices.ContainsFunc(list, func(text string) bool { return strings.Contains(text, "://") })
		host := strings.Contains(list[0], ".") && !strings.ContainsAny(list[0], "/= ")
		port := len(c.arg(0)) > 1 // of a pair
		if requesting().MatchString(c.name) && url || connecting().MatchString(c.name) && host && (port || !strings.HasPrefix(c.last(), "connect")) {
			at = append(at, c.at)
		}
	}
	return at
}
