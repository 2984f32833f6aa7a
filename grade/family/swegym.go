package family

import (
	"strings"

	"batch.example/batch/grade/evalscript"
	"batch.example/batch/grade/logparse"
)

// SWE-Gym has the form of SWE-bench 4, with a table of its own repositories
// (SWE-Gym/SWE-Bench-Fork, swebench/harness). Its rule is SWE-bench's. A row of a repository that
// both have counts as SWE-bench's, since nothing in it distinguishes them. SWE-Gym's published rows
// have no such repository, though its harness would read sympy's logs differently.
func isGym(r row) bool {
	_, parsed := logparse.ForRepo(r.in.Repo)
	return r.in.TestPatch != "" && !parsed && evalscript.Known(r.in.Repo)
}

func fillGym(r row, t *Task) error {
	name, _ := logparse.ForSWEGymRepo(r.in.Repo) // a test compares the two tables
	t.named(name)
	t.parse = asInV4(t.parse)
	if r.in.ImageDerived() {
		t.Image = "docker.io/xingyaoww/sweb.eval.x86_64." + strings.ToLower(strings.ReplaceAll(r.in.ID, "__", "_s_")) + ":latest"
	}
	return derive(r, t)
}
