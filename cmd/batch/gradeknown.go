package main

import (
	"batch.example/batch/fault"
	"batch.example/batch/internal/near"
	"batch.example/batch/internal/printable"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/run"
)

// check refuses predictions of instances that the dataset does not have.
func (s *gradeSession) check(file swebench.Predictions) error {
	ids := make([]string, len(s.ds.Instances))
	for i, in := range s.ds.Instances {
		ids[i] = in.ID
	}
	return checkInstances(file, run.Title(s.ds), ids)
}

// checkInstances refuses predictions for instances that are not among ids, the instances of
// dataset. The usage fault names the first such prediction and the most similar id.
func checkInstances(file swebench.Predictions, dataset string, ids []string) error {
	known := make(map[string]bool, len(ids))
	for _, id := range ids {
		known[id] = true
	}
	var unknown []swebench.Prediction
	for _, p := range file.List {
		if !known[p.InstanceID] {
			unknown = append(unknown, p)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	first := unknown[0]
	place := file.Name
	if first.Where != "" {
		place += ": " + first.Where
	}
	err := fault.Newf(fault.Usage, "reading predictions: %s: %q is not an instance of %s (as %d of %s)", place,
		printable.Line(first.InstanceID), dataset, len(unknown), printable.Count(len(file.List), "prediction", "predictions"))
	return err.WithHint("%s", near.Hint(near.Name(first.InstanceID, ids), "name the predictions' dataset with --subset and --split"))
}
