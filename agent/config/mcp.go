package config

import (
	"maps"
	"slices"
	"strings"

	"batch.example/batch/agent"
	"batch.example/batch/agent/mcp"
	"batch.example/batch/fault"
	"batch.example/batch/internal/lazy"
	"batch.example/batch/internal/mask"
)

// MCPServer is one of agent.mcp_servers. In the values of Env and Headers, ${NAME} is the
// variable NAME of batch's own environment, so that a secret need not be in a file.
type MCPServer struct {
	Command []string          // of a program that speaks over stdin and stdout; or
	URL     string            // of streamable HTTP
	Env     map[string]string // of the program; outside, it gets few other variables
	Headers map[string]string // of requests to the url
	Inside  bool              // run the program in the instance's container
	Tools   []string          // names or patterns of the tools that may be used
	Timeout float64           // seconds, of connecting and of a call; 0 is 60
}

// mcpServers is the key of the servers.
const mcpServers = "agent.mcp_servers"

// handedDown are the variables that a program outside the container gets from batch's own
// environment. They are not secret.
var handedDown = []string{"HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER"}

// reference matches a reference to a variable of batch's own environment.
var reference = lazy.Regexp(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// MCPServers returns the servers that offer tools to the agent, sorted by name, with the
// variables of batch's own environment that they refer to. A variable that is not set is a
// Usage fault.
func (c *Config) MCPServers(getenv func(string) string) ([]mcp.Server, error) {
	var list []mcp.Server
	var missing error
	for _, name := range slices.Sorted(maps.Keys(c.Agent.MCPServers)) {
		filled := func(key string, values map[string]string) map[string]string {
			filled := map[string]string{}
			for k, v := range values {
				filled[k] = reference().ReplaceAllStringFunc(v, func(ref string) string {
					variable := reference().FindStringSubmatch(ref)[1]
					value := getenv(variable)
					if value == "" && missing == nil {
						missing = fault.Newf(fault.Usage, "%s.%s.%s.%s refers to the environment variable %s, which is not set", mcpServers, name, key, k, variable).
							WithHint("export %s", variable)
					}
					return value
				})
			}
			return filled
		}
		given := c.Agent.MCPServers[name]
		env := filled("env", given.Env)
		if !given.Inside && len(given.Command) > 0 {
			for _, variable := range handedDown {
				if value := getenv(variable); value != "" && given.Env[variable] == "" {
					env[variable] = value
				}
			}
		}
		given.Env, given.Headers = env, filled("headers", given.Headers)
		list = append(list, given.server(name))
	}
	if missing != nil {
		return nil, missing
	}
	return list, nil
}

func (s MCPServer) server(name string) mcp.Server {
	out := mcp.Server{
		Name: name, Command: s.Command, URL: s.URL, Headers: s.Headers,
		Inside: s.Inside, Tools: s.Tools, Timeout: seconds(s.Timeout),
	}
	for _, variable := range slices.Sorted(maps.Keys(s.Env)) {
		out.Env = append(out.Env, variable+"="+s.Env[variable])
	}
	return out
}

// MCPSecrets returns the secrets that are sent to MCP servers: all headers, and variables
// that refer to batch's own environment or look like secrets by name or value.
func (c *Config) MCPSecrets(getenv func(string) string) []mask.Secret {
	var found []mask.Secret
	for _, s := range c.Agent.MCPServers {
		for name, value := range s.Headers {
			found = append(found, mask.Secret{Name: name, Value: reference().ReplaceAllStringFunc(value, func(ref string) string {
				return getenv(reference().FindStringSubmatch(ref)[1])
			})})
			if _, secret, ok := strings.Cut(value, " "); ok { // Bearer sk-...
				found = append(found, mask.Secret{Name: name, Value: secret})
			}
		}
		for name, value := range s.Env {
			found = append(found, mask.PassedOn(name, value)...)
		}
		for _, values := range []map[string]string{s.Headers, s.Env} {
			for _, value := range values {
				for _, ref := range reference().FindAllStringSubmatch(value, -1) {
					found = append(found, mask.Secret{Name: ref[1], Value: getenv(ref[1])})
				}
			}
		}
	}
	return slices.DeleteFunc(found, func(s mask.Secret) bool { return reference().MatchString(s.Value) })
}

// checkMCP looks at the settings of the servers.
func (c *Config) checkMCP() (problems []string) {
	for _, name := range slices.Sorted(maps.Keys(c.Agent.MCPServers)) {
		for _, p := range c.Agent.MCPServers[name].server(name).Check() {
			path := strings.TrimSuffix(mcpServers+"."+name+"."+p.Key, ".")
			problems = append(problems, c.nearestPlace(path)+": "+path+" "+p.Text)
		}
	}
	if len(c.Agent.MCPServers) > 0 && c.ActionForm().Kind == agent.Text {
		problems = append(problems, c.nearestPlace(mcpServers)+": "+mcpServers+" needs replies that call tools, but commands are asked for as text; set model.action_form to toolcall or tools, with prompts for it")
	}
	return problems
}

// nearestPlace names the place of the value at a path, or of the innermost mapping on the
// path that is set.
func (c *Config) nearestPlace(path string) string {
	for {
		if at, ok := c.places[path]; ok {
			return at.String()
		}
		path = path[:strings.LastIndexByte(path, '.')]
	}
}

// servers takes names and servers; null leaves a server out.
func (d *decoder) servers(path string, v *value, to *map[string]MCPServer) {
	m, ok := v.v.(map[string]*value)
	if !ok {
		d.problem(v, path, "is %s, expected the servers by their names", kindOf(v))
		return
	}
	servers := map[string]MCPServer{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if m[name].v == nil {
			continue
		}
		var s MCPServer
		d.section(path+"."+name, m[name], s.keys(path+"."+name))
		servers[name] = s
	}
	*to = servers
}

// plainServers are the servers as plain values, without empty ones.
func plainServers(servers map[string]MCPServer) map[string]any {
	all := map[string]any{}
	for name, s := range servers {
		m := map[string]any{}
		for _, k := range s.keys(name) {
			if plain := k.field.plain(); !isEmpty(plain) {
				m[k.name()] = plain
			}
		}
		all[name] = m
	}
	return all
}
