package main

import (
	"testing"

	"batch.example/batch/run"
)

// A run that only grades what earlier ones predicted has something to do.
func TestTheHeadlineOfAPlanCountsWhatIsGraded(t *testing.T) {
	kept, fresh := run.Planned{Action: run.Keep}, run.Planned{Action: run.Fresh}
	for want, plan := range map[string]run.Plan{
		"nothing to do: the instance has a result":                                                        {Instances: []run.Planned{kept}},
		"would run no instance, and grade 1 prediction of earlier runs":                                   {Instances: []run.Planned{kept}, Ungraded: 1},
		"would run 1 of 3 instances: 1 fresh, 2 kept with a result, 2 predictions of earlier runs graded": {Instances: []run.Planned{fresh, kept, kept}, Ungraded: 2},
	} {
		if got := headline(&plan); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
