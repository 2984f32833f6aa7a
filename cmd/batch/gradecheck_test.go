package main

import (
	"strings"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/results/grades"
	"batch.example/batch/vocab"
)

func TestAnInstanceIsBrokenByItsImageAndNotByTheEngine(t *testing.T) {
	for blame, want := range map[string]string{"instance": "cannot be tested: no such image", "transient": "", "host": ""} {
		g := grades.Grade{Verdict: vocab.VerdictInfrastructure, Blame: blame, Error: "no such image"}
		if got := broken(wordGold, g); got != want {
			t.Errorf("%s: got %q, want %q", blame, got, want)
		}
	}
}

func TestPredictionsOfAnotherDatasetAreNamed(t *testing.T) {
	p, err := swebench.DecodePredictions("p.json", []byte(`[{"instance_id":"django__django-1","model_patch":""},{"instance_id":"django__django-22","model_patch":""}]`))
	if err != nil {
		t.Fatal(err)
	}
	if err := checkInstances(p, "demo", []string{"django__django-1", "django__django-22"}); err != nil {
		t.Error(err)
	}
	err = checkInstances(p, "demo", []string{"django__django-1", "django__django-2"})
	if err == nil || !strings.Contains(err.Error(), `entry 2: "django__django-22" is not an instance of demo (as 1 of 2 predictions)`) || !strings.Contains(fault.HintOf(err), "django__django-2") {
		t.Errorf("%v, %s", err, fault.HintOf(err))
	}
}
