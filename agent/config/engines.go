package config

import (
	"fmt"
	"slices"
	"strconv"
)

// Engine is one of environment.engines: an engine, and what containers may use of it.
type Engine struct {
	Address string  // see package engines
	Workers int     // instances at the same time; 0: the total's share
	Memory  string  // for all containers together; see [Engine.Bytes]
	CPUs    float64 // for all containers together; 0: all that the engine has
}

// engineList is the key of the engines.
const engineList = "environment.engines"

// podSettings is the key of the settings of pods.
const podSettings = "environment.pod"

// Bytes returns Memory in bytes; 0: all that the engine has.
func (e Engine) Bytes() int64 {
	n, _ := parseSize(e.Memory) //nolint:errcheck // it was checked
	return n
}

// keys is the table of the engine at a path of a configuration.
func (e *Engine) keys(path string) []key {
	return []key{
		{path: path + ".address", field: field{to: &e.Address}},
		{path: path + ".workers", field: limit(&e.Workers)},
		{path: path + ".memory", field: size(&e.Memory, "64g", leastMemory)},
		{path: path + ".cpus", field: limit(&e.CPUs)},
	}
}

// engines takes a list of addresses, or of mappings that have an address.
func (d *decoder) engines(path string, v *value, to *[]Engine) {
	items, ok := v.v.([]*value)
	if !ok {
		d.problem(v, path, "is %s, expected a list of engines", kindOf(v))
		return
	}
	list := []Engine{}
	for i, item := range items {
		var e Engine
		at := path + "." + strconv.Itoa(i+1)
		d.places[at] = item.at
		if address, ok := item.v.(string); ok {
			e.Address = address
		} else {
			d.section(at, item, e.keys(at))
		}
		list = append(list, e)
	}
	*to = list
}

func (e *EnvironmentConfig) checkEngines(say reporter) {
	seen := map[string]bool{}
	for i, one := range e.Engines {
		name := fmt.Sprintf("engine %d", i+1)
		if one.Address == "" {
			say("has no address for %s", name)
		} else if seen[one.Address] {
			say("has %s twice", one.Address)
		}
		seen[one.Address] = true
		for _, k := range one.keys(name) {
			if k.field.check != nil {
				k.field.check(func(format string, args ...any) {
					say("has %s with %s that %s", name, k.name(), fmt.Sprintf(format, args...))
				})
			}
		}
	}
}

// plainEngines are the engines as plain values: addresses, if nothing else is set.
func plainEngines(list []Engine) []any {
	all := []any{}
	for _, e := range list {
		m := map[string]any{}
		for _, k := range e.keys("") {
			if plain := k.field.plain(); !isEmpty(plain) {
				m[k.name()] = plain
			}
		}
		if len(m) == 1 && e.Address != "" {
			all = append(all, e.Address)
		} else {
			all = append(all, m)
		}
	}
	return all
}

// Addresses returns the addresses of the engines, in their order.
func Addresses(list []Engine) []string {
	var all []string
	for e := range slices.Values(list) {
		all = append(all, e.Address)
	}
	return all
}
