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
	r.preparePart()
	id := c.Instances[0].ID
	over := runner.NewRoster[dataset.Instance](nil)
	if _, ok, _ := over.Next(t.Context()); ok {
		t.Fatal("an empty roster has an instance")
	}
	for want, s := range map[string]source{"no instance has begun yet": nil, "no further instance begins": over} {
		if r.more.Store(nil); s != nil {
			r.takeMore(s)
		}
		for name, err := range map[string]error{"checked": r.part.Takes(), "applied": r.part.Again(id)} {
			if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
		if !r.part.Finished(id) {
			t.Fatalf("%s: the result is gone", want)
		}
	}
	open := runner.NewRoster(r.todo)
	r.takeMore(open)
	for range 2 {
		if err := r.part.Again(id); err != nil || r.part.Finished(id) || open.Left() != len(r.todo)+1 {
			t.Errorf("error %v, finished %v, %d left, want %d", err, r.part.Finished(id), open.Left(), len(r.todo)+1)
		}
	}
}
