package run

import (
	"strings"
	"testing"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/run/control"
	"batch.example/batch/runner"
)

// A requeue that is refused keeps the result; one that is carried out adds the instance once.
func TestARefusedRequeueKeepsTheResult(t *testing.T) {
	_, c := mixed(t)
	c.Control, c.Accept = &control.Begin{}, []string{"all"}
	r, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	id, open := c.Instances[0].ID, r.roster
	r.roster = runner.NewRoster[dataset.Instance](nil)
	r.roster.Close()
	for name, err := range map[string]error{"checked": r.part.Takes(), "applied": r.part.Again(id)} {
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "no further instance begins") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !r.part.Finished(id) {
		t.Fatal("the result is gone")
	}
	r.roster = open
	for range 2 {
		if err := r.part.Again(id); err != nil || r.part.Finished(id) || open.Left() != len(r.todo)+1 {
			t.Errorf("error %v, finished %v, %d left, want %d", err, r.part.Finished(id), open.Left(), len(r.todo)+1)
		}
	}
}
