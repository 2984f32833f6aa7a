package mcp_test

import (
	"fmt"
	"strings"
	"testing"

	"batch.example/batch/agent/mcp"
)

func TestSettingsAreChecked(t *testing.T) {
	t.Parallel()
	good := []string{"*"}
	for name, c := range map[string]struct {
		server mcp.Server
		want   string // keys and a part of the text; empty: nothing is wrong
	}{
		"a program":              {mcp.Server{Name: "a-b_c9", Command: []string{"x"}, Env: []string{"A=", "B=c"}, Tools: good, Inside: true}, ""},
		"over HTTP":              {mcp.Server{Name: "a", URL: "https://x/y?z", Headers: map[string]string{"X-Key": "é"}, Tools: []string{"a", "b_*"}}, ""},
		"nothing":                {mcp.Server{Name: "a", Tools: good}, " needs a command or a url"},
		"both":                   {mcp.Server{Name: "a", Command: []string{"x"}, URL: "http://x", Tools: good}, "url cannot be set together with command"},
		"an empty program":       {mcp.Server{Name: "a", Command: []string{""}, Tools: good}, "command begins with an empty name"},
		"NUL in an argument":     {mcp.Server{Name: "a", Command: []string{"x", "\x00"}, Tools: good}, "command has a NUL"},
		"NUL in a variable":      {mcp.Server{Name: "a", Command: []string{"x"}, Env: []string{"A=\x00"}, Tools: good}, "env has a variable"},
		"a variable of no name":  {mcp.Server{Name: "a", Command: []string{"x"}, Env: []string{"=b"}, Tools: good}, "env has a variable"},
		"headers of a program":   {mcp.Server{Name: "a", Command: []string{"x"}, Headers: map[string]string{"a": "b"}, Tools: good}, "headers are for a server with a url"},
		"no allow-list":          {mcp.Server{Name: "a", Command: []string{"x"}}, "tools is empty"},
		"a bad pattern":          {mcp.Server{Name: "a", Command: []string{"x"}, Tools: []string{"[a"}}, `tools has "[a"`},
		"an empty pattern":       {mcp.Server{Name: "a", Command: []string{"x"}, Tools: []string{""}}, `tools has ""`},
		"negative":               {mcp.Server{Name: "a", Command: []string{"x"}, Tools: good, Timeout: -1}, "timeout is negative"},
		"not an address":         {mcp.Server{Name: "a", URL: "example.com/mcp", Tools: good}, "url is not an address"},
		"another scheme":         {mcp.Server{Name: "a", URL: "file:///x", Tools: good}, "url is not an address"},
		"a password in the URL":  {mcp.Server{Name: "a", URL: "https://u:p@x", Tools: good}, "url has a user"},
		"a fragment":             {mcp.Server{Name: "a", URL: "https://x#y", Tools: good}, "url has a #fragment"},
		"HTTP inside":            {mcp.Server{Name: "a", URL: "https://x", Inside: true, Tools: good}, "inside needs a command"},
		"variables over HTTP":    {mcp.Server{Name: "a", URL: "https://x", Env: []string{"A=b"}, Tools: good}, "env is for a server with a command"},
		"a header with new line": {mcp.Server{Name: "a", URL: "https://x", Headers: map[string]string{"A": "b\r\nC: d"}, Tools: good}, `headers has "A"`},
		"a bad header name":      {mcp.Server{Name: "a", URL: "https://x", Headers: map[string]string{"A b": "c"}, Tools: good}, `headers has "A b"`},
		"the protocol's header":  {mcp.Server{Name: "a", URL: "https://x", Headers: map[string]string{"Mcp-Session-Id": "c"}, Tools: good}, "headers has Mcp-Session-Id"},
	} {
		t.Run(name, func(t *testing.T) {
			var said []string
			for _, p := range c.server.Check() {
				said = append(said, p.Key+" "+p.Text)
			}
			got := strings.Join(said, "; ")
			if (c.want == "") != (got == "") || !strings.HasPrefix(got, c.want) || len(said) > 1 {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	for _, name := range []string{"", "a__b", "_a", "a_", "a b", "ä", "a.b", strings.Repeat("a", 33)} {
		if p := (mcp.Server{Name: name, Command: []string{"x"}, Tools: good}).Check(); len(p) != 1 || p[0].Key != "" {
			t.Errorf("name %q: %s", name, fmt.Sprint(p))
		}
	}
}
