package config

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/agent/mcp"
	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
)

const twoServers = `
agent:
  mcp_servers:
    web:
      url: https://example.com/mcp
      headers: {Authorization: "Bearer ${WEB_TOKEN}", X-Plain: literal-header-value}
      tools: [find, "read_*"]
    code:
      command: [python3, server.py]
      inside: true
      env: {DEBUG: on, CODE_KEY: "pre-${CODE_KEY}", LEVEL: 1.0}
      tools: ["*"]
      timeout: 2.5
`

func environment(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func TestMCPServersAreRead(t *testing.T) {
	file := write(t, "f.yaml", twoServers)
	c, err := Load([]string{file, "agent.mcp_servers.notes.command=[\"notes\"]", "agent.mcp_servers.notes.tools=[\"a\"]", "agent.mcp_servers.notes.env.TERM=dumb"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.MCPServers(environment(map[string]string{
		"WEB_TOKEN": "web-token", "CODE_KEY": "code-key", "PATH": "/bin", "TERM": "xterm", "OPENAI_API_KEY": "secret",
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := []mcp.Server{
		{
			Name: "code", Command: []string{"python3", "server.py"}, Inside: true, Tools: []string{"*"}, Timeout: 2500 * time.Millisecond,
			Env: []string{"CODE_KEY=pre-code-key", "DEBUG=on", "LEVEL=1.0"}, Headers: map[string]string{},
		},
		{Name: "notes", Command: []string{"notes"}, Tools: []string{"a"}, Env: []string{"PATH=/bin", "TERM=dumb"}, Headers: map[string]string{}},
		{
			Name: "web", URL: "https://example.com/mcp", Tools: []string{"find", "read_*"},
			Headers: map[string]string{"Authorization": "Bearer web-token", "X-Plain": "literal-header-value"},
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("servers (-want +got):\n%s", d)
	}
	_, err = c.MCPServers(environment(map[string]string{"CODE_KEY": "x"}))
	if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "agent.mcp_servers.web.headers.Authorization refers to the environment variable WEB_TOKEN, which is not set") {
		t.Errorf("a variable that is not set: %v", err)
	}
	c, err = Load([]string{file, "agent.mcp_servers.web=null"}, Options{})
	if err != nil || len(c.Agent.MCPServers) != 1 {
		t.Errorf("after the removal of one: %v, %v", c.Agent.MCPServers, err)
	}
}

func TestMistakesInMCPServers(t *testing.T) {
	for spec, want := range map[string]string{
		`agent.mcp_servers=[1]`:                                                "is a list, expected the servers by their names",
		`agent.mcp_servers.a=1`:                                                "agent.mcp_servers.a is 1, expected keys and values",
		`agent.mcp_servers.a={"comand":["x"],"tools":["*"]}`:                   "agent.mcp_servers.a.comand is not a known key; did you mean agent.mcp_servers.a.command?",
		`agent.mcp_servers.a={"command":["x"],"tools":["*"],"zzz":1}`:          "agent.mcp_servers.a.zzz is not a known key",
		`agent.mcp_servers.a={"command":["x"]}`:                                "-c agent.mcp_servers.a={\"command\":[\"x\"]}: agent.mcp_servers.a.tools is empty",
		`agent.mcp_servers.a__b={"url":"http://x","tools":["*"]}`:              "agent.mcp_servers.a__b has a name that does not fit",
		`agent.mcp_servers.a={"url":"http://x","tools":["*"],"timeout":"60s"}`: "agent.mcp_servers.a.timeout is \"60s\", expected a number",
		`agent.mcp_servers.a={"url":"http://x","tools":["*"],"env":{"A":{}}}`:  "agent.mcp_servers.a.env.A is a mapping, expected text",
	} {
		_, err := Load([]string{spec}, Options{})
		if fault.KindOf(err) != fault.Usage || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v, want a Usage fault with %q", spec, err, want)
		}
	}
	_, err := Load([]string{"text", write(t, "f.yaml", twoServers)}, Options{})
	if fault.KindOf(err) != fault.Usage || !strings.Contains(fmt.Sprint(err), "f.yaml:3: agent.mcp_servers needs replies that call tools") {
		t.Errorf("with commands in text: %v", err)
	}
}

func TestNothingChangesWithoutMCPServers(t *testing.T) {
	c, err := Load(nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, there := c.Resolved()["agent"].(map[string]any)["mcp_servers"]; there {
		t.Error("the resolved configuration has agent.mcp_servers")
	}
	if _, there := c.Vars()["mcp_servers"]; there {
		t.Error("templates see mcp_servers")
	}
	if list, err := c.MCPServers(environment(nil)); len(list) != 0 || err != nil {
		t.Errorf("%v, %v", list, err)
	}
}

func TestSecretsOfMCPServersAreHidden(t *testing.T) {
	const key, header, variable = "literal-env-value", "literal-header-value", "value-of-a-variable"
	spec := `agent.mcp_servers={"a":{"command":["x"],"tools":["*"],"env":{"FOO":"` + key + `"}},` +
		`"b":{"url":"https://x","tools":["*"],"headers":{"X-Foo":"` + header + ` ${BAR}"}}}`
	specs := []string{
		spec,
		`agent.mcp_servers.a={"env":{"FOO":"` + key + `"}}`,
		`agent.mcp_servers.a.env={"FOO":"` + key + `"}`,
		`agent.mcp_servers.a.env.FOO=` + key,
		`agent.mcp_servers.b.headers.X-Foo=` + header,
		`agent={"mcp_servers":{"a":{"env":{"FOO":"` + key + `"}}}}`,
	}
	for _, s := range specs {
		if shown := MaskSpec(s); strings.Contains(shown, key) || strings.Contains(shown, header) {
			t.Errorf("shown as %s", shown)
		}
	}
	c, err := Load([]string{spec}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	written, err := json.Marshal([]any{c.Resolved(), c.Vars(), c.Values(), c.Origin("agent.mcp_servers"), c.Origin("agent.mcp_servers.a.env.FOO")})
	if err != nil {
		t.Fatal(err)
	}
	if text := string(written); strings.Contains(text, key) || strings.Contains(text, header) || !strings.Contains(text, `"command":["x"]`) {
		t.Errorf("written: %s", text)
	}
	getenv := environment(map[string]string{"BAR": variable})
	m := mask.New(append(c.Secrets(), c.MCPSecrets(getenv)...)...)
	if got := m.Text(header + " " + variable + "; " + variable); strings.Contains(got, "value") {
		t.Errorf("in a log: %s", got)
	}
	if got := m.Text("${BAR}"); got != "${BAR}" {
		t.Errorf("a reference is hidden: %s", got)
	}
	values := map[string]Value{}
	for _, v := range c.Values() {
		values[v.Path] = v
	}
	if v := values["agent.mcp_servers.a"]; !v.Hidden || v.Source != "-c on the command line" || len(values) == 0 {
		t.Errorf("listed as %+v", v)
	}
}
