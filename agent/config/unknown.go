package config

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"batch.example/batch/internal/near"
	"batch.example/batch/internal/removed"
)

// unknownKey reports an unknown key, with the known one that was probably meant.
func (d *decoder) unknownKey(path string, v *value) {
	d.unknown = true
	if m, ok := v.v.(map[string]*value); ok && len(m) == 1 && !strings.Contains(path, ".") { // agnet.step_limit=5
		for key, item := range m {
			path, v = path+"."+key, item
		}
	}
	if instead := removed.Instead(path); instead != "" {
		d.problem(v, path, "was removed: %s", instead)
		return
	}
	meant := near.Hint(nearest(path), "")
	if meant != "" {
		meant = "; " + meant
	}
	d.problem(v, path, "is not a known key%s", meant)
}

// nearest returns the known key that was probably meant by path: a key of the same name in
// another section, or one with a similar name.
func nearest(path string) string {
	dot := strings.LastIndexByte(path, '.')
	name, keys := path[dot+1:], new(Config).keys()
	inServer := strings.HasPrefix(path, mcpServers+".")
	inEngine := strings.HasPrefix(path, engineList+".")
	switch {
	case inServer:
		keys = new(MCPServer).keys(path[:dot])
	case inEngine:
		keys = new(Engine).keys(path[:dot])
	}
	byName, byPath, sections := map[string]string{}, map[string]string{}, map[string]string{}
	for _, k := range keys {
		section, _, _ := strings.Cut(k.path, ".")
		byName[k.name()], byPath[k.path], sections[section] = k.path, k.path, section
	}
	among := func(known map[string]string, meant string) string {
		return known[near.Name(meant, slices.Collect(maps.Keys(known)))]
	}
	section, _, inSection := strings.Cut(path, ".")
	switch {
	case byName[name] != "":
		return byName[name]
	case inServer, inEngine:
		return among(byName, name)
	case !inSection:
		return cmp.Or(among(sections, path), among(byName, path))
	}
	same := maps.Clone(byPath)
	maps.DeleteFunc(same, func(p, _ string) bool { return !strings.HasPrefix(p, section+".") })
	return cmp.Or(among(same, path), among(byPath, path), among(byName, name))
}
