package mcp

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"batch.example/batch/internal/lazy"
)

// DefaultTimeout is the limit of a call where the server's own is 0.
const DefaultTimeout = time.Minute

// Server is one server and what may be used of it.
type Server struct {
	Name    string            // letters and digits, with single - or _ between them; at most 32 characters
	Command []string          // the program and its arguments; or
	URL     string            // of streamable HTTP, without a user and a password
	Env     []string          // NAME=value, of the program: outside all that it has, inside in addition to the container's
	Headers map[string]string // of each request to the URL
	Dir     string            // where the program starts outside; empty: the working directory
	Inside  bool              // in the attempt's container
	Tools   []string          // the tools that may be used: names, or patterns of [path.Match] in which * also matches a /
	Timeout time.Duration     // of connecting, and of each call; 0 is DefaultTimeout
}

// serverName has no __ and no _ at its end, so that the name of a tool begins with the name
// of one server only.
var serverName = lazy.Regexp(`^[a-zA-Z0-9]+([_-][a-zA-Z0-9]+)*$`)

// maxServerName leaves half of a tool's name to the tool.
const maxServerName = 32

// ownHeaders are the headers that the protocol sets.
var ownHeaders = []string{"accept", "connection", "content-length", "content-type", "host", "last-event-id", "mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id", "transfer-encoding"}

// Problem is a mistake in one setting of a Server.
type Problem struct {
	Key  string // as a configuration has it: command, url, headers...; empty: the server itself
	Text string // continues a sentence that the key begins
}

// Check returns everything that is wrong with the settings; it looks at nothing else.
func (s Server) Check() (problems []Problem) {
	say := func(key, format string, args ...any) {
		problems = append(problems, Problem{key, fmt.Sprintf(format, args...)})
	}
	if !serverName().MatchString(s.Name) || len(s.Name) > maxServerName {
		say("", "has a name that does not fit: expected at most %d letters and digits, with single - or _ between them", maxServerName)
	}
	hasCommand := len(s.Command) > 0
	switch {
	case hasCommand && s.URL != "":
		say("url", "cannot be set together with command")
	case !hasCommand && s.URL == "":
		say("", "needs a command or a url")
	case hasCommand && s.Command[0] == "":
		say("command", "begins with an empty name")
	case s.URL != "":
		s.checkURL(say)
	}
	for _, variable := range s.Env {
		if name, value, _ := strings.Cut(variable, "="); name == "" || strings.ContainsRune(name+value, 0) {
			say("env", "has a variable without a name, or with a NUL character")
		}
	}
	for _, word := range s.Command {
		if strings.ContainsRune(word, 0) {
			say("command", "has a NUL character")
		}
	}
	if hasCommand && len(s.Headers) > 0 {
		say("headers", "are for a server with a url")
	}
	if len(s.Tools) == 0 {
		say("tools", "is empty: it lists the tools that may be used, such as [search, \"read_*\"], or [\"*\"] for all")
	}
	for _, pattern := range s.Tools {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			say("tools", "has %q, which is neither a name nor a pattern", pattern)
		}
	}
	if s.Timeout < 0 {
		say("timeout", "is negative")
	}
	return problems
}

func (s Server) checkURL(say func(key, format string, args ...any)) {
	u, err := url.Parse(s.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		say("url", "is not an address such as https://example.com/mcp")
	case u.User != nil:
		say("url", "has a user: put the login into headers, as Authorization")
	case u.Fragment != "":
		say("url", "has a #fragment, which is not sent to a server")
	}
	if s.Inside {
		say("inside", "needs a command: a server inside the container cannot be reached over HTTP")
	}
	if len(s.Env) > 0 {
		say("env", "is for a server with a command")
	}
	for name, value := range s.Headers {
		switch {
		case !isToken(name) || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
			say("headers", "has %q, which cannot be sent", name)
		case slices.Contains(ownHeaders, strings.ToLower(name)):
			say("headers", "has %s, which the protocol itself sets", name)
		}
	}
}

func isToken(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// allows reports whether the tool may be used.
func (s Server) allows(tool string) bool {
	return slices.ContainsFunc(s.Tools, func(pattern string) bool { return matches(pattern, tool) })
}

// matches reports whether a pattern that passes Check is for the tool.
func matches(pattern, tool string) bool {
	slash := strings.NewReplacer("/", "\x01")
	ok, err := path.Match(slash.Replace(pattern), slash.Replace(tool))
	return pattern == tool || ok && err == nil
}

func (s Server) timeout() time.Duration {
	if s.Timeout == 0 {
		return DefaultTimeout
	}
	return s.Timeout
}

// ServerOf returns the name of the server that a tool with the name belongs to; false if it
// is not a tool of a server.
func ServerOf(tool string) (server string, ok bool) {
	server, _, ok = strings.Cut(tool, separator)
	return server, ok
}

// separator stands between a server's and a tool's name.
const separator = "__"
