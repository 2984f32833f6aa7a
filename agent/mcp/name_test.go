package mcp

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

var accepted = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func FuzzToolsFitProviders(f *testing.F) {
	f.Add("a.b\na b\na_b", "text", `{"type":"object"}`)
	f.Add("\x00\n\n"+strings.Repeat("x", 100), strings.Repeat("é", 5000), `{"type":["object","null"],"properties":7}`)
	f.Add("test", "\xff", `[1]`)
	f.Fuzz(func(t *testing.T, names, about, parameters string) {
		var s any
		_ = json.Unmarshal([]byte(parameters), &s)
		c := &client{Server: Server{Name: "a-b_c"}}
		for name := range strings.SplitSeq(names, "\n") {
			c.list = append(c.list, &sdk.Tool{Name: name, Description: about, InputSchema: s})
		}
		taken := map[string]bool{}
		for i, tool := range append(c.tools(taken), c.tools(taken)...) {
			server, ok := ServerOf(tool.Name)
			if !accepted.MatchString(tool.Name) || !ok || server != "a-b_c" {
				t.Errorf("tool %d has the name %q", i, tool.Name)
			}
			var schema struct{ Type string }
			if err := json.Unmarshal(tool.Parameters, &schema); err != nil || schema.Type != "object" {
				t.Errorf("tool %d has the schema %s", i, tool.Parameters)
			}
			if n := len([]rune(tool.Description)); n > maxDescription+3 {
				t.Errorf("a description of %d characters", n)
			}
		}
		if want := 2 * len(c.list); len(taken) != want {
			t.Errorf("%d names of %d tools", len(taken), want)
		}
	})
}
