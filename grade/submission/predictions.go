package submission

import (
	"path/filepath"

	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/swebench"
)

func (r *Run) predictions() []swebench.Prediction {
	var list []swebench.Prediction
	for _, in := range r.Instances {
		if predicted(in) {
			list = append(list, swebench.Prediction{InstanceID: in.ID, Model: in.Model, Patch: in.Patch})
		}
	}
	return list
}

// WriteSBCLI writes the predictions for sb-cli into file, replacing it: a JSON list if its name
// ends in .json, and otherwise one object per line, as sb-cli expects. It does not check the rules:
// [CheckSBCLI] does. Instances without a prediction are left out; an empty patch is submitted.
func WriteSBCLI(r *Run, file string) error {
	text, err := swebench.EncodePredictions(r.predictions(), filepath.Ext(file) == ".json")
	if err != nil {
		return err
	}
	err = atomicfile.Files{}.Write(file, 0o644, atomicfile.Bytes(text))
	return atomicfile.Fault("writing "+file, err)
}
