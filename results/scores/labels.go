package scores

import (
	"slices"

	"batch.example/batch/results"
	"batch.example/batch/results/notes"
)

// ReadLabels reads the Labels of all runs that are run directories. A run has the labels of its
// instances and of the attempts that count, steps included; not of earlier attempts.
func ReadLabels(sides []Side) error {
	for _, side := range sides {
		for i := range side.Runs {
			run := &side.Runs[i]
			if run.Snapshot == nil {
				continue
			}
			list, err := notes.Read(run.Snapshot.Dir)
			if err != nil {
				return err
			}
			run.Labels = labelsOf(list, results.Latest(run.Snapshot.Records))
		}
	}
	return nil
}

// labelsOf returns the labels of each instance, each once.
func labelsOf(list []notes.Note, last map[string]results.Record) map[string][]string {
	labels := map[string][]string{}
	for _, n := range list {
		id := n.Instance
		counts := n.Attempt == 0 || n.Attempt == results.LatestOf(last, id).Attempt
		if n.Label != "" && counts && !slices.Contains(labels[id], n.Label) {
			labels[id] = append(labels[id], n.Label)
		}
	}
	return labels
}
