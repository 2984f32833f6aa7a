package regrade

import (
	"cmp"
	"fmt"
	"path/filepath"

	"batch.example/batch/fault"
	"batch.example/batch/internal/near"
	"batch.example/batch/internal/printable"
	"batch.example/batch/swebench"
)

// find lists the folders of instances in the tree, with the run ids for the reports.
func (c Config) find() (swebench.Found, error) {
	ids := map[string]bool{}
	for _, in := range c.Dataset {
		ids[in.ID] = true
	}
	found, err := swebench.Find(c.Tree, func(name string) bool { return ids[name] })
	if err != nil {
		return found, err
	}
	if len(found.Folders) == 0 {
		return found, c.nothing(found.Unknown)
	}
	paths := map[swebench.Folder]string{}
	for i := range found.Folders {
		f := &found.Folders[i]
		if c.RunID != "" || f.Run == "" {
			f.Run = cmp.Or(c.RunID, DefaultRunID)
		}
		key := swebench.Folder{Run: f.Run, Model: f.Model, InstanceID: f.InstanceID}
		if other := paths[key]; other != "" {
			return found, fault.Newf(fault.Usage, "two folders for %s of %s: %s and %s", f.InstanceID, f.Model, other, f.Path).
				WithHint("give the tree of one of the runs, or leave out --run-id")
		}
		paths[key] = f.Path
	}
	return found, sameReport(found.Folders)
}

// sameReport refuses two runs that would write the same final report: model "a" in run "b.c" and
// model "a.b" in run "c".
func sameReport(folders []swebench.Folder) error {
	first := map[string]swebench.Folder{}
	for _, f := range folders {
		name, err := swebench.Final{Model: f.Model, RunID: f.Run}.Name()
		if err != nil {
			return err
		}
		other, known := first[name]
		if known && (other.Model != f.Model || other.Run != f.Run) {
			return fault.Newf(fault.Usage, "%s and %s would have the same report %s", filepath.Dir(other.Path), filepath.Dir(f.Path), name).
				WithHint("grade each by itself, as --from-logs of its own folder")
		}
		first[name] = f
	}
	return nil
}

// nothing returns the fault for a tree without a folder of an instance.
func (c Config) nothing(unknown []string) error {
	if len(unknown) == 0 {
		return fault.Newf(fault.Usage, "no log of an instance in %s", c.Tree).
			WithHint("a tree of logs has folders such as <run>/<model>/<instance_id> with a %s", swebench.OutputName)
	}
	ids := make([]string, len(c.Dataset))
	for i, in := range c.Dataset {
		ids[i] = in.ID
	}
	err := fault.Newf(fault.Usage, "no log in %s is of an instance of the dataset: %s, first %s",
		c.Tree, printable.Count(len(unknown), "folder has logs", "folders have logs"), printable.Line(unknown[0]))
	return err.WithHint("%s", near.Hint(near.Name(unknown[0], ids), fmt.Sprintf("the dataset's first id is %s: name the logs' dataset with --subset", ids[0])))
}

// runs groups the folders by run and model, in their order.
func runs(folders []swebench.Folder) [][]swebench.Folder {
	type key struct{ run, model string }
	var order []key
	groups := map[key][]swebench.Folder{}
	for _, f := range folders {
		k := key{f.Run, f.Model}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], f)
	}
	list := make([][]swebench.Folder, len(order))
	for i, k := range order {
		list[i] = groups[k]
	}
	return list
}
