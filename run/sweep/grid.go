// Package sweep describes a sweep: a grid of models, agents, configurations and attempts over one request.
// A [Grid] comes from flags or from a YAML file ([ReadFile]); its cells get unique names in the
// folder. A [Setup] is the sweep in a folder, new or continued, with the run of each cell; it
// checks them before it changes the folder. [run.OpenSweep] does the work.
//
// Its API is not promised to other programs: see package batch.
package sweep

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/agent/config"
	"batch.example/batch/fault"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/run"
)

// Grid describes the runs of a sweep: every model with every agent and every configuration, in
// every attempt.
type Grid struct {
	Models   []Variant
	Agents   []Variant  // configurations that say which agent; empty: the default alone
	Configs  []Variant  // empty: the default alone
	Attempts [][]string // additions of each attempt to the configuration
	Common   []string   // -c of all cells
}

// Variant is a model, an agent or a configuration of a grid.
type Variant struct {
	Name  string // empty: derived from the model, or from the first of Specs
	Model string
	Specs []string // as -c takes them
}

// Cells returns the cells of the grid, entry by entry, with their names in a new sweep. Base
// is the common request, without model and configuration; each has the same as arguments, for
// people. The cells contain the secrets of base and of the grid.
func (g Grid) Cells(base run.Request, each []string) ([]sweeps.Cell, error) {
	if len(g.Models) == 0 {
		return nil, fault.Newf(fault.Usage, "which models?").WithHint("give each with `-m`; `batch models` lists the models with a known price")
	}
	if len(g.Attempts) < 1 {
		return nil, fault.Newf(fault.Usage, "--attempts %d: expected at least 1", len(g.Attempts))
	}
	var list []sweeps.Cell
	for _, m := range g.Models {
		for _, c := range pairs(g.Agents, g.Configs) {
			entry := m.entry(g.Models) + c.Name
			for n, extra := range g.Attempts {
				specs := slices.Concat(g.Common, m.Specs, c.Specs, extra)
				specs = slices.DeleteFunc(specs, func(spec string) bool { return spec == "default" }) // always the base
				r := base
				r.Model, r.Configs = m.Model, specs
				list = append(list, sweeps.Cell{
					Folder: fmt.Sprintf("%s@%d", entry, n+1), Entry: entry, Attempt: n + 1,
					Model: m.Model, Config: config.MaskSpecs(specs), Argv: cellArgs(each, m.Model, specs), Request: &r,
				})
			}
		}
	}
	return list, checkNames(list)
}

// pairs returns every agent with every configuration. Their names are what follows a model's in an entry.
func pairs(agents, configs []Variant) (list []Variant) {
	for _, a := range orDefault(agents) {
		for _, c := range orDefault(configs) {
			list = append(list, Variant{Name: a.suffix(agents) + c.suffix(configs), Specs: slices.Concat(a.Specs, c.Specs)})
		}
	}
	return list
}

func orDefault(list []Variant) []Variant {
	if len(list) == 0 {
		return []Variant{{}}
	}
	return list
}

// suffix returns what tells a variant from the others of a list.
func (v Variant) suffix(all []Variant) string {
	if len(all) < 2 && v.Name == "" {
		return ""
	}
	return "+" + v.label()
}

// checkNames refuses equal cells, and cells that would share a folder, also on a disk that
// ignores case.
func checkNames(cells []sweeps.Cell) error {
	seen := map[string]sweeps.Cell{}
	for i, c := range cells {
		folder := strings.ToLower(c.Folder)
		if old, ok := seen[folder]; ok {
			return fault.Newf(fault.Usage, "two cells of the grid would be called %s: %s %s, and %s %s", c.Folder,
				old.Model, strings.Join(old.Config, " "), c.Model, strings.Join(c.Config, " ")).
				WithHint("leave one out, or give them names in the file of a sweep: see `batch sweep --help`")
		}
		if at := find(&sweeps.Index{Cells: cells[:i]}, c); at >= 0 {
			return fault.Newf(fault.Usage, "%s and %s of the grid are the same: %s %s", cells[at].Folder, c.Folder, c.Model, strings.Join(c.Config, " ")).
				WithHint("leave one out; for several attempts at the same: --attempts")
		}
		seen[folder] = c
	}
	return nil
}

// checkMerged refuses an index in which two cells share a folder: the values of an attempt
// have changed since its number was first used.
func checkMerged(x *sweeps.Index) error {
	seen := map[string]sweeps.Cell{}
	for _, c := range x.Cells {
		folder := strings.ToLower(c.Folder)
		if old, ok := seen[folder]; ok {
			return fault.Newf(fault.Usage, "%s was made with other values: %s %s, not %s %s", old.Folder,
				old.Model, strings.Join(old.Config, " "), c.Model, strings.Join(c.Config, " ")).
				WithHint("add further attempts after the existing ones, or choose another folder with `-o`")
		}
		seen[folder] = c
	}
	return nil
}

// cellArgs returns the `batch run` of a cell, without its directory.
func cellArgs(each []string, model string, specs []string) []string {
	args := append([]string{"run", "--model=" + model}, each...)
	for _, spec := range specs {
		args = append(args, "--config="+spec)
	}
	return args
}

// entry returns the name of a model in a grid: its last part, if no other model has the
// same.
func (v Variant) entry(all []Variant) string {
	if v.Name != "" {
		return folderName(v.Name)
	}
	short := lastPart(v.Model)
	for _, other := range all {
		if other.Model != v.Model && lastPart(other.Model) == short {
			return folderName(v.Model)
		}
	}
	return folderName(short)
}

func lastPart(model string) string { return model[strings.LastIndex(model, "/")+1:] }

// label returns the name of an agent or a configuration.
func (v Variant) label() string {
	if v.Name != "" || len(v.Specs) == 0 {
		return folderName(cmp.Or(v.Name, "default"))
	}
	first := v.Specs[0]
	if !config.IsKeyValue(first) {
		first = strings.TrimSuffix(filepath.Base(first), filepath.Ext(first))
	}
	return folderName(first[strings.LastIndex(first, ".")+1:])
}

// folderName makes a name that is valid for a folder on every system.
func folderName(name string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("._-+=", r):
			return r
		}
		return '-'
	}, name)
	clean = strings.TrimLeft(clean, ".-")
	return cmp.Or(clean[:min(len(clean), 80)], "cell")
}

// merge adds cells to the index. Cells that the index already has, by model, configuration
// and attempt, keep their names, and further attempts use the names of their entries. It
// returns the index's versions of the cells, in their order.
func merge(x *sweeps.Index, cells []sweeps.Cell) []sweeps.Cell {
	names := map[string]string{} // entry in the grid -> entry in the index
	for _, c := range cells {
		if at := find(x, c); at >= 0 {
			names[c.Entry] = x.Cells[at].Entry
		}
	}
	chosen := make([]sweeps.Cell, len(cells))
	for i, c := range cells {
		at := find(x, c)
		if at < 0 {
			if names[c.Entry] == "" {
				names[c.Entry] = newEntry(x.Cells, c.Entry)
			}
			c.Entry = names[c.Entry]
			c.Folder = fmt.Sprintf("%s@%d", c.Entry, c.Attempt)
			x.Cells = append(x.Cells, c)
			at = len(x.Cells) - 1
		}
		chosen[i] = x.Cells[at]
		chosen[i].Argv, chosen[i].Request = c.Argv, c.Request // with its keys
		masked := run.Masked(*c.Request)
		x.Cells[at].Argv, x.Cells[at].Request = config.MaskSpecs(c.Argv), &masked
	}
	return chosen
}

// find returns the place in the index of a cell, or -1.
func find(x *sweeps.Index, c sweeps.Cell) int {
	return slices.IndexFunc(x.Cells, func(old sweeps.Cell) bool {
		return old.Model == c.Model && old.Attempt == c.Attempt && slices.Equal(old.Config, c.Config)
	})
}

// newEntry returns a name that no cell has: name itself, or one that begins with it.
func newEntry(cells []sweeps.Cell, name string) string {
	free := name
	for n := 2; slices.ContainsFunc(cells, func(c sweeps.Cell) bool { return strings.EqualFold(c.Entry, free) }); n++ {
		free = fmt.Sprintf("%s-%d", name, n)
	}
	return free
}
