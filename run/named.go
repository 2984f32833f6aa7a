package run

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
)

// Named lists what a run directory that is continued makes this user do, and what only its request says:
// the addresses that get the user's keys and tasks, the programs that start on this machine, the
// variables that containers get, and another owner of the directory. It is sorted; a request without any
// has none. Engines are left out where the user chose them.
func (s *Setup) Named(enginesChosen bool) (list []string) {
	add := func(form string, args ...any) { list = append(list, fmt.Sprintf(form, args...)) }
	for _, key := range []string{"api_base", "base_url"} {
		if address, ok := s.Settings.Model.ModelKwargs[key].(string); ok {
			add("the model's address %s", address)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Settings.Agent.MCPServers)) {
		server := s.Settings.Agent.MCPServers[name]
		if server.URL != "" {
			add("the MCP server %s", server.URL)
		} else if !server.Inside {
			add("the program %q on this machine, as the MCP server %s", server.Command, name)
		}
	}
	for _, variable := range s.Settings.Environment.Forwarded() {
		add("the variable %s, for containers", variable)
	}
	var engines []string
	if !enginesChosen {
		engines = slices.Clone(s.Engines)
	}
	for _, e := range s.Settings.Environment.Engines {
		engines = append(engines, e.Address)
	}
	for _, address := range engines {
		if strings.Contains(address, "://") && !strings.HasPrefix(address, "unix://") {
			add("the engine %s", address)
		}
	}
	if info, err := os.Stat(s.Output); err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Getuid() {
			add("the files of user %d", st.Uid)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
