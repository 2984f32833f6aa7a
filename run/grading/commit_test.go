package grading_test

import (
	"strings"
	"testing"

	"batch.example/batch/dataset"
	"batch.example/batch/vocab"
)

func TestAnImageAtAnotherCommitIsNotTested(t *testing.T) {
	for name, c := range map[string]struct {
		head, repo string
		tested     bool
	}{
		"at base_commit":      {baseCommit, "o/r", true},
		"at another":          {"0123456789", "o/r", false},
		"an official dataset": {"0123456789", "psf/requests", true},
	} {
		d := newDesk(t)
		d.boxes.head = c.head
		d.boxes.tests = func(int, dataset.Instance) (vocab.Output, error) { return d.boxes.between("PASSED test_a\n"), nil }
		j := job("a__1", "patch")
		j.Instance.Repo = c.repo
		j.Task, j.Untestable = find(j.Instance)
		if _, err := d.grade(j); err != nil {
			t.Fatal(err)
		}
		g := d.latest(j)
		if (g.Verdict == vocab.VerdictResolved) != c.tested || !c.tested && !strings.HasPrefix(g.Error, "the image is not at base_commit "+baseCommit+": ") {
			t.Errorf("%s: %s %s", name, g.Verdict, g.Error)
		}
	}
}
