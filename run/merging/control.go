package merging

import (
	"maps"
	"path/filepath"
	"reflect"
	"slices"

	"batch.example/batch/results/sweeps"
	"batch.example/batch/run"
	"batch.example/batch/run/control"
)

// readControl returns what commands to a run directory left in force. For a cell of a sweep that is also
// what commands to the sweep did.
func readControl(dir string) (f control.InForce, err error) {
	h, err := run.ReadControl(dir)
	if err != nil {
		return f, err
	}
	f = h.InForce()
	if sweep := sweeps.Of(dir); sweep != "" {
		above, err := control.Read(sweep)
		if err != nil {
			return f, err
		}
		cell := above.InForce().Cell(filepath.Base(dir))
		f.Requeued, f.Said = append(cell.Requeued, f.Requeued...), append(cell.Said, f.Said...)
	}
	return f, nil
}

// command is one by which the new directory has in force what was in force.
func command(c control.Command) control.Record {
	c.ID, c.Program = control.NewID(), "batch merge"
	return control.NewRecord(c)
}

// limitOfAll returns the command that sets the limit of all instances, if the directories have the same one.
// It holds for the instances of missing shards too.
func limitOfAll(list []*input) (commands []control.Record, same bool) {
	all := list[0].force.Limits[""]
	for _, in := range list {
		if !reflect.DeepEqual(in.force.Limits[""], all) {
			return nil, false
		}
	}
	if len(all) > 0 {
		commands = append(commands, command(control.Command{Verb: control.SetLimit, Limit: all}))
	}
	return commands, true
}

// commands returns the commands by which the new directory has in force what was in force for its
// instances: limits, what was canceled or waits to run again, and messages that no agent has read.
func (b *builder) commands() (list []control.Record) {
	same := false
	if b.cell == "" { // a sweep has no limit for all of a cell
		list, same = limitOfAll(b.inputs)
	}
	given := map[string]bool{}
	for _, in := range b.inputs {
		limited := slices.Collect(maps.Keys(in.force.Limits))
		if !same { // what holds for all in one directory holds for its instances
			limited = append(limited, in.manifest.Dataset.Instances...)
		}
		slices.Sort(limited)
		for _, id := range slices.Compact(limited) {
			if limit := in.force.Of(id); id != "" && len(limit) > 0 && b.decides(in, id) {
				list = append(list, command(control.Command{Verb: control.SetLimit, Instance: id, Limit: limit}))
			}
		}
		for _, id := range in.force.Canceled {
			if b.decides(in, id) {
				list = append(list, command(control.Command{Verb: control.Cancel, Instance: id}))
			}
		}
		for _, r := range slices.Concat(in.force.Requeued, in.force.Said) {
			if b.decides(in, r.Instance) && !given[r.ID] {
				given[r.ID] = true
				list = append(list, r)
			}
		}
	}
	return list
}

// decides reports whether commands to a directory hold for an instance: it is copied from there, or from
// nowhere.
func (b *builder) decides(in *input, id string) bool { return b.owner[id] == in || b.owner[id] == nil }

// writeControl records the commands in dir.
func writeControl(dir string, list []control.Record) error {
	if len(list) == 0 {
		return nil
	}
	log, err := control.OpenLog(dir)
	for _, r := range list {
		if err == nil {
			_, err = log.Add(r)
		}
	}
	return err
}
