package merging_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"batch.example/batch/results/manifest"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/run/control"
	"batch.example/batch/run/merging"
)

// commanded records commands in dir, each as one of another user, and that those in done are complete.
func commanded(t *testing.T, dir string, list []control.Command, done ...string) {
	t.Helper()
	log, err := control.OpenLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		if c.ID == "" {
			c.ID = control.NewID()
		}
		if _, err := log.Add(control.Record{Command: c, UID: 4711}); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range done {
		if err := log.Done(id); err != nil {
			t.Fatal(err)
		}
	}
}

func inForce(t *testing.T, dir string) control.InForce {
	t.Helper()
	h, err := control.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return h.InForce()
}

func differs(t *testing.T, want, got control.InForce) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(control.Record{}, "Seq", "Time"), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("in force (-want +got):\n%s", d)
	}
}

func steps(n float64) control.Limit { return control.Limit{"steps": n} }

// What people have commanded in a shard holds in the merged directory.
func TestCommandsStayInForce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one := shard(t, filepath.Join(dir, "1"), "1/3", func(m *manifest.Manifest) { m.Dataset.Instances = append(m.Dataset.Instances, "waits") }, "a", "b")
	two := shard(t, filepath.Join(dir, "2"), "2/3", nil, "c")
	say := control.Command{ID: "said", Verb: control.Say, Instance: "b", Text: "mind\nthe gap", Program: "batch ctl"}
	again := control.Command{ID: "again", Verb: control.Requeue, Instance: "a", Program: "batch ctl"}
	commanded(t, one, []control.Command{
		{Verb: control.Cancel, Instance: "waits"},
		{Verb: control.SetLimit, Limit: steps(7)},
		{Verb: control.SetLimit, Instance: "b", Limit: steps(9)},
		{ID: "read", Verb: control.Say, Instance: "b", Text: "was read"},
		{Verb: control.Pause},
		{Verb: control.SetBudget, Budget: 0.5},
		say, again,
	}, "read")
	commanded(t, two, []control.Command{
		{Verb: control.Cancel, Instance: "a"}, // which the other shard ran
		{Verb: control.Cancel, Instance: "c"},
	})
	out := filepath.Join(dir, "all")
	if _, err := merging.Merge(merging.Config{Dirs: []string{one, two}, Output: out}); err != nil {
		t.Fatal(err)
	}
	want := control.InForce{
		Limits:   map[string]control.Limit{"a": steps(7), "b": steps(9), "waits": steps(7)},
		Canceled: []string{"c", "waits"},
		Requeued: []control.Record{{Command: again, UID: 4711}}, Said: []control.Record{{Command: say, UID: 4711}},
	}
	differs(t, want, inForce(t, out))
	m, err := manifest.Read(out)
	if err != nil {
		t.Fatal(err)
	}
	if limit := m.CostLimit(); limit != 4.5 { // 6, of which this shard had 2 and has 0.50
		t.Errorf("the limit is %v, want 4.50", limit)
	}
}

func TestALimitOfAllShardsIsOneOfAll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, two := shard(t, filepath.Join(dir, "1"), "1/3", nil, "a"), shard(t, filepath.Join(dir, "2"), "2/3", nil, "c")
	for _, d := range []string{one, two} {
		commanded(t, d, []control.Command{{Verb: control.SetLimit, Limit: steps(7)}, {Verb: control.SetBudget}})
	}
	out := filepath.Join(dir, "all")
	if _, err := merging.Merge(merging.Config{Dirs: []string{one, two}, Output: out}); err != nil {
		t.Fatal(err)
	}
	differs(t, control.InForce{Limits: map[string]control.Limit{"": steps(7)}}, inForce(t, out))
	if m, err := manifest.Read(out); err != nil || m.CostLimit() != 0 {
		t.Errorf("the limit is %v, %v; want none, as commands have said", m.CostLimit(), err)
	}
}

func TestCommandsToSweepsStayInForce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, two := sweepShard(t, filepath.Join(dir, "1"), "1/2", "a", nil), sweepShard(t, filepath.Join(dir, "2"), "2/2", "c", nil)
	say := control.Command{ID: "said", Verb: control.Say, Instance: "a@1/a", Text: "x", Program: "batch ctl"}
	commanded(t, one, []control.Command{
		{Verb: control.Cancel, Instance: "a@1/a2"}, {Verb: control.Cancel, Instance: "b@1/a2"}, // a cell that has not begun
		{Verb: control.SetBudget, Budget: 1}, {Verb: control.SetLimit, Limit: steps(3)}, say,
	})
	commanded(t, filepath.Join(one, "a@1"), []control.Command{{Verb: control.SetLimit, Instance: "a", Limit: steps(4)}}) // resumed alone
	commanded(t, two, []control.Command{{Verb: control.SetLimit, Limit: steps(3)}})
	out := filepath.Join(dir, "all")
	if _, err := merging.Sweeps(merging.Config{Dirs: []string{one, two}, Output: out}); err != nil {
		t.Fatal(err)
	}
	want := control.InForce{
		Limits:   map[string]control.Limit{"": steps(3), "a@1/a": steps(4), "a@1/c": steps(3)},
		Canceled: []string{"a@1/a2", "b@1/a2"},
		Said:     []control.Record{{Command: say, UID: 4711}},
	}
	differs(t, want, inForce(t, out))
	x, err := sweeps.Read(out)
	if err != nil || x.CostLimit != 4 { // 3 of 6, and 1
		t.Errorf("the limit is %v, %v; want 4", x.CostLimit, err)
	}
}
