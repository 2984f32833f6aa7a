package results

import (
	"batch.example/batch/fault"
	"batch.example/batch/vocab"
)

// checkID refuses an instance id that cannot name a folder.
func checkID(id string) error {
	if err := vocab.CheckID(id); err != nil {
		return fault.Newf(fault.Instance, "instance id %q %w and cannot name a folder", id, err)
	}
	return nil
}
