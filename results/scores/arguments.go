package scores

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/fault"
)

// argument is a parsed argument of a comparison.
type argument struct {
	name  string // empty: not given
	paths []string
}

// parse reads PATH, NAME=PATH and NAME=PATH,PATH. A text that is an existing path is a
// PATH.
func parse(text string) argument {
	name, rest, named := strings.Cut(text, "=")
	if !named || name == "" || strings.ContainsRune(name, filepath.Separator) || exists(text) {
		return argument{paths: []string{text}}
	}
	if exists(rest) {
		return argument{name, []string{rest}}
	}
	return argument{name, strings.Split(rest, ",")}
}

// ReadAll reads the arguments of a comparison, in order. Each is a path for [Options.Read];
// NAME=PATH gives its entry a name, and NAME=PATH,PATH reads several paths as the attempts
// of one entry. All names are different: folders with the same name are shown with their
// parent folders. An error is a Usage fault.
func (o Options) ReadAll(args []string) ([]Side, error) {
	var list []Side
	var paths []string // of the entries; empty: the name was given
	given := map[string]bool{}
	for _, text := range args {
		arg := parse(text)
		if arg.name != "" && given[arg.name] {
			return nil, fault.Newf(fault.Usage, "two entries are named %q", arg.name)
		}
		entries, err := o.readArgument(arg)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			path := arg.paths[0]
			if arg.name != "" {
				given[e.Name], path = true, ""
			}
			list, paths = append(list, e), append(paths, path)
		}
	}
	distinguish(list, paths)
	return list, nil
}

func (o Options) readArgument(arg argument) ([]Side, error) {
	if len(arg.paths) > 1 {
		e, err := o.readAttempts(arg)
		return []Side{e}, err
	}
	if err := withoutName(arg); err != nil {
		return nil, err
	}
	entries, err := o.Read(arg.paths[0])
	if err != nil || arg.name == "" {
		return entries, err
	}
	for i := range entries {
		if len(entries) > 1 {
			entries[i].Name = arg.name + "/" + entries[i].Name
		} else {
			entries[i].Name = arg.name
		}
	}
	return entries, nil
}

// withoutName refuses PATH,PATH: an entry of several paths needs a name.
func withoutName(arg argument) error {
	text := arg.paths[0]
	paths := strings.Split(text, ",")
	if arg.name != "" || len(paths) < 2 || exists(text) || !slices.ContainsFunc(paths, exists) {
		return nil
	}
	return fault.Newf(fault.Usage, "%s: several paths need a name", text).
		WithHint("to make them the attempts of one: `all=%s`, or any other name before the =", text)
}

// readAttempts reads several paths as the attempts of one entry.
func (o Options) readAttempts(arg argument) (Side, error) {
	e := Side{Name: arg.name}
	seen := map[string]bool{}
	for _, path := range arg.paths {
		if path == "" {
			return e, fault.Newf(fault.Usage, "%s=%s: a path is empty", arg.name, strings.Join(arg.paths, ","))
		}
		if key := identity(path); seen[key] {
			return e, fault.Newf(fault.Usage, "%s has %s twice: an attempt counts once", arg.name, path)
		} else {
			seen[key] = true
		}
		entries, err := o.Read(path)
		if err != nil {
			return e, err
		}
		if len(entries) != 1 {
			return e, fault.Newf(fault.Usage, "%s has %d entries: expected one for an attempt", path, len(entries))
		}
		if e.Model == "" {
			e.Model = entries[0].Model
		}
		e.Runs = append(e.Runs, entries[0].Runs...)
	}
	return e, nil
}

// identity returns the same text for all paths to a file.
func identity(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return path
}

// distinguish makes equal names different, by the parent folders, or if that is not enough by
// a number. Entries without a path keep their name.
func distinguish(list []Side, paths []string) {
	base := make([]string, len(list))
	for i, e := range list {
		base[i] = e.Name
	}
	for depth := 1; depth < 8; depth++ {
		for _, same := range sameNames(list) {
			for _, i := range same {
				if paths[i] != "" {
					list[i].Name = above(base[i], paths[i], depth)
				}
			}
		}
	}
	for _, same := range sameNames(list) {
		for n, i := range same[1:] {
			list[i].Name += fmt.Sprintf(" (%d)", n+2)
		}
	}
}

// sameNames returns the indices of entries that share a name.
func sameNames(list []Side) [][]int {
	at := map[string][]int{}
	var order []string
	for i, e := range list {
		if at[e.Name] == nil {
			order = append(order, e.Name)
		}
		at[e.Name] = append(at[e.Name], i)
	}
	var same [][]int
	for _, name := range order {
		if len(at[name]) > 1 {
			same = append(same, at[name])
		}
	}
	return same
}

// above returns name after depth parent folders of its path.
func above(name, path string, depth int) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return name
	}
	parts := strings.Split(filepath.ToSlash(abs), "/")
	if info, err := os.Stat(path); strings.TrimSuffix(parts[len(parts)-1], ".json") == name || err == nil && !info.IsDir() {
		parts = parts[:len(parts)-1] // the last part is the name itself
	}
	return strings.Join(append(parts[max(1, len(parts)-depth):], name), "/")
}
