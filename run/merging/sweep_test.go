package merging_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/inject"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/run/merging"
)

// sweepShard makes the folder of a shard of a sweep with the cells a@1, which has an instance, and
// b@1, which has not begun.
func sweepShard(t *testing.T, dir, part, id string, change func(*sweeps.Index)) string {
	t.Helper()
	shard(t, filepath.Join(dir, "a@1"), part, nil, id)
	x := &sweeps.Index{CostLimit: 6}
	for _, entry := range []string{"a", "b"} {
		r := manifest.NewRequest()
		r.Subset, r.Shard, r.CostLimit = "demo", part, 6
		x.Cells = append(x.Cells, sweeps.Cell{
			Folder: entry + "@1", Entry: entry, Attempt: 1, Model: entry, Request: &r, Argv: []string{"run", "--model=" + entry, "--shard=" + part},
		})
	}
	if change != nil {
		change(x)
	}
	if err := x.Write(dir); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "batch.log"), "sweep "+part+"\n")
	return dir
}

func TestShardsOfASweepBecomeOneSweep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, two := sweepShard(t, filepath.Join(dir, "1"), "1/3", "a", nil), sweepShard(t, filepath.Join(dir, "2"), "2/3", "failed", func(x *sweeps.Index) { x.Cells[0].Request.Grade = true })
	before, out := tree(t, dir), filepath.Join(dir, "all")
	got, err := merging.Sweeps(merging.Config{Dirs: []string{two, one, two}, Output: out, Argv: []string{"merge"}})
	if err != nil {
		t.Fatal(err)
	}
	want := &merging.Sweep{Dir: out, Dirs: 2, Cells: []merging.Cell{
		{Folder: "a@1", Merged: &merging.Merged{
			Dir: filepath.Join(out, "a@1"), Dirs: 2, Instances: []string{"a", "failed"}, Unfinished: []string{"failed"}, Predictions: 1,
			Report: filepath.Join(out, "a@1", "m.a@1.json"), Shards: []dataset.Shard{{I: 1, N: 3}, {I: 2, N: 3}}, Missing: []dataset.Shard{{I: 3, N: 3}},
		}},
		{Folder: "b@1"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("merged (-want +got):\n%s", diff)
	}
	x, err := sweeps.Read(out)
	if err != nil {
		t.Fatal(err)
	}
	if c := x.Cells[0]; x.CostLimit != 6 || c.Request.Shard != "" || !c.Request.Grade || x.Cells[1].Request.Grade || !cmp.Equal(c.Argv, []string{"run", "--model=a"}) {
		t.Errorf("the index has the limit %v, and the cells %+v %+v, %+v", x.CostLimit, c, c.Request, x.Cells[1].Request)
	}
	if text, err := os.ReadFile(filepath.Join(out, "batch.log")); err != nil || string(text) != "sweep 2/3\nsweep 1/3\n" {
		t.Errorf("batch.log %q, %v", text, err)
	}
	if _, err := os.Stat(got.Cells[0].Report); err != nil {
		t.Error(err)
	}
	if err := os.RemoveAll(out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Errorf("the shards were changed (-before +after):\n%s", diff)
	}
}

func TestSweepsWithOtherCellsAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	base := sweepShard(t, filepath.Join(dir, "1"), "1/3", "a", nil)
	for name, c := range map[string]struct {
		change func(*sweeps.Index)
		text   string
	}{
		"fewer": {func(x *sweeps.Index) { x.Cells = x.Cells[:1] }, "b@1 is only in " + base},
		"more": {func(x *sweeps.Index) {
			x.Cells = append(x.Cells, sweeps.Cell{Folder: "c@1", Request: x.Cells[0].Request})
		}, "c@1 is only in " + dir + "/more"},
		"model":      {func(x *sweeps.Index) { x.Cells[1].Model = "c" }, "b@1 has other models: b and c"},
		"config":     {func(x *sweeps.Index) { x.Cells[1].Config = []string{"tools"} }, "b@1 has other configurations"},
		"attempt":    {func(x *sweeps.Index) { x.Cells[1].Attempt = 2 }, "b@1 has other configurations"},
		"shards":     {func(x *sweeps.Index) { x.Cells[1].Request.Shard = "2/4" }, "b@1 has other shards: 1/3 and 2/4"},
		"instances":  {func(x *sweeps.Index) { x.Cells[1].Request.Filter = "a.*" }, "b@1 has other instances"},
		"no request": {func(x *sweeps.Index) { x.Cells[1].Request = nil }, "no request/sweep.json has no request"},
	} {
		out := filepath.Join(dir, "out")
		_, err := merging.Sweeps(merging.Config{Dirs: []string{base, sweepShard(t, filepath.Join(dir, name), "2/3", "b", c.change)}, Output: out})
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: got %v, want a Usage fault with %q", name, err, c.text)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: %s was made", name, out)
		}
	}
	unlock, err := results.Lock(sweepShard(t, filepath.Join(dir, "busy"), "2/3", "b", nil), results.DefaultOwner())
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	_, err = merging.Sweeps(merging.Config{Dirs: []string{base, filepath.Join(dir, "busy")}, Output: filepath.Join(dir, "out")})
	if locked, ok := errors.AsType[*results.LockedError](err); !ok || locked.Dir != filepath.Join(dir, "busy") {
		t.Errorf("got %v, want that the sweep is in use", err)
	}
}

func TestAFailureLeavesNoSweep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, two := sweepShard(t, filepath.Join(dir, "1"), "1/2", "a", nil), sweepShard(t, filepath.Join(dir, "2"), "2/2", "b", nil)
	before, failures := tree(t, dir), 0
	for out := filepath.Join(dir, "all"); ; failures++ {
		plan, err := inject.Parse(fmt.Sprintf("file.write:%d=ENOSPC", failures+1))
		if err != nil {
			t.Fatal(err)
		}
		_, err = merging.Sweeps(merging.Config{Dirs: []string{one, two}, Output: out, Files: atomicfile.Files{Inject: plan}})
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.ENOSPC) || fault.KindOf(err) != fault.Host {
			t.Errorf("failure %d: got %v, want a Host fault that the disk is full", failures+1, err)
		}
		if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
			t.Fatalf("failure %d left (-before +after):\n%s", failures+1, diff)
		}
	}
	if failures < 15 {
		t.Errorf("%d failures, want one for each write", failures)
	}
}
