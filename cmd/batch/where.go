package main

import (
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/results"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/results/trajectory"
)

// Commands that read results take DIR: a run directory, or the folder of a sweep, which stands for its
// cells. INSTANCE is an id or its beginning; in a sweep, it is one of any cell, and CELL/ID one of that cell.

// holder is a run directory, or another folder of trajectories, with the ids of its instances.
type holder struct {
	dir  string
	cell string // the name of its folder in the sweep that was named; empty: none was
	ids  []string
	snap *results.Snapshot // nil: not read
}

// full is the name of an instance for people: one that another command takes with the same DIR.
func (h holder) full(id string) string {
	if h.cell == "" {
		return id
	}
	return h.cell + "/" + id
}

// cellIn returns the cell that a run directory of the sweep at path is; "" if path is the directory itself.
func cellIn(path, dir string) string {
	if path == dir {
		return ""
	}
	return filepath.Base(dir)
}

// meant returns the holders of the instance that want means, and its id. Where names them for people.
func meant(holders []holder, want, where string) (has []holder, id string, err error) {
	want = strings.TrimSuffix(want, "/")
	of := slices.DeleteFunc(slices.Clone(holders), func(h holder) bool { return h.cell == "" || !strings.HasPrefix(want, h.cell+"/") })
	if len(of) > 0 {
		want = strings.TrimPrefix(want, of[0].cell+"/")
		where += "/" + of[0].cell
	} else {
		of = holders
	}
	var ids []string
	for _, h := range of {
		ids = append(ids, h.ids...)
	}
	slices.Sort(ids)
	if id, err = chosen(slices.Compact(ids), want, where); err != nil {
		return nil, "", err
	}
	return slices.DeleteFunc(slices.Clone(of), func(h holder) bool { return !slices.Contains(h.ids, id) }), id, nil
}

// oneInstance returns the run directory, as it was read, and the id of the only instance that want means in
// the directory at path. It refuses one that several cells of a sweep have, and names the cells.
func oneInstance(path, want string) (in *results.Snapshot, id string, err error) {
	dirs, err := sweeps.Runs(path)
	if err != nil {
		return nil, "", err
	}
	var holders []holder
	var all []string
	for _, dir := range dirs {
		snap, ids, err := instancesIn(dir)
		if err != nil {
			return nil, "", err
		}
		h := holder{dir, cellIn(path, dir), ids, snap}
		holders = append(holders, h)
		for _, id := range ids {
			all = append(all, h.full(id))
		}
	}
	if want == "" {
		return nil, "", fault.Newf(fault.Usage, "INSTANCE is missing: %s has %s", path, some(all)).
			WithHint("`batch status %s --attempts` lists all", path)
	}
	has, id, err := meant(holders, want, path)
	if err != nil {
		return nil, "", err
	}
	if len(has) > 1 {
		all = slices.DeleteFunc(all, func(name string) bool { return !strings.HasSuffix(name, "/"+id) })
		return nil, "", fault.Newf(fault.Usage, "%d cells of %s have %s: %s", len(has), path, id, strings.Join(all, ", ")).
			WithHint("give one of these in place of %s", want)
	}
	return has[0].snap, id, nil
}

// instancesIn reads a run directory, or another folder of trajectories, and returns the ids of its
// instances, sorted.
func instancesIn(dir string) (*results.Snapshot, []string, error) {
	ids := trajectory.Instances(dir)
	snap, err := results.Read(dir)
	if err != nil && len(ids) == 0 {
		return nil, nil, err
	}
	if err != nil { // a folder of trajectories
		snap = &results.Snapshot{Dir: dir}
	}
	ids = append(ids, snap.Asked()...)
	slices.Sort(ids)
	return snap, slices.Compact(ids), nil
}
