package family

import (
	"batch.example/batch/dataset"
	"batch.example/batch/grade/evalscript"
)

// WithTests returns the task of an instance with testPatch in place of the row's test patch: its
// script applies testPatch and runs its tests with the commands of the row's family. It contains
// neither the row's test patch nor its gold patch, and its Tests are empty. An Instance fault says
// why this is not possible for the row.
func WithTests(in dataset.Instance, testPatch string, o Options) (*Task, error) {
	t, err := Find(in, o)
	if err != nil {
		return nil, err
	}
	r := row{in: in, options: o}
	cannot := func(why string) error {
		return r.fault("the tests of %s cannot be replaced: %s", t.Family, why)
	}
	switch t.Family {
	case "SWE-bench", "SWE-rebench", "SWE-Gym", "own":
	default:
		return nil, cannot("its test commands are made for the row's own tests")
	}
	other := *t
	if other.Script, err = evalscript.WithTests(t.Script, scriptRow(r), testPatch); err != nil {
		return nil, cannot(err.Error())
	}
	other.TestFiles = evalscript.Paths(testPatch)
	other.Tests.FailToPass, other.Tests.PassToPass, other.Gold = nil, nil, nil
	return &other, nil
}
