package dataset

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"batch.example/batch/dataset/harbor"
)

// openTasks reads Harbor's task folders, in the order of their names.
func (s Source) openTasks(ctx context.Context, folders []string) (*Dataset, error) {
	tasks, failed := make([]*harbor.Task, len(folders)), make([]error, len(folders))
	together(len(folders), func(i int) {
		if failed[i] = ctx.Err(); failed[i] == nil {
			tasks[i], failed[i] = harbor.Read(folders[i])
		}
	})
	l := loader{}
	unknown := map[string][]string{}
	for i, t := range tasks {
		if failed[i] != nil {
			return nil, failed[i]
		}
		l.paths = append(l.paths, t.Dir)
		l.sums = append(l.sums, fmt.Sprintf("%s  %s\n", t.Digest, filepath.Base(t.Dir)))
		l.rows = append(l.rows, row{place{filepath.Join(t.Dir, harbor.File), "task", i + 1}, taskRow(t)})
		for _, text := range t.Unknown {
			unknown[text] = append(unknown[text], t.ID())
		}
	}
	d, err := l.dataset(s.Split)
	if err != nil {
		return nil, err
	}
	for i := range d.Instances {
		d.Instances[i].Task = tasks[i]
	}
	for text, ids := range unknown {
		d.Notes = append(d.Notes, fmt.Sprintf("%s (%d of %s, such as %s)", text, len(ids), instances(len(tasks)), ids[0]))
	}
	slices.Sort(d.Notes)
	return d, nil
}

// Verifier returns the instance in the environment of its task's separate verifier.
func (in Instance) Verifier() Instance {
	in.Task = in.Task.Separate
	in.Image = in.Task.ImageName()
	return in
}

// taskRow returns a row for a task. Its columns are all that decides a result, by digest.
func taskRow(t *harbor.Task) map[string]any {
	return map[string]any{
		"instance_id": t.ID(), "problem_statement": t.Instruction, "image_name": t.ImageName(),
		"task_name": t.Name, "task_sha256": t.Digest,
	}
}
