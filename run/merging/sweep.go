package merging

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/printable"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/run"
	"batch.example/batch/run/control"
)

// Sweep describes a new folder of a sweep.
type Sweep struct {
	Dir   string `json:"dir"`
	Dirs  int    `json:"directories"` // that were merged
	Cells []Cell `json:"cells"`
}

// Cell is one of a merged sweep. Merged is nil if none of the sweeps has begun it.
type Cell struct {
	Folder string `json:"folder"`
	*Merged
}

// Sweeps makes one folder of a sweep of the folders of its shards: each cell as [Merge] does it. A
// Usage fault names the cells in which the sweeps differ.
func Sweeps(c Config) (s *Sweep, err error) {
	release, err := c.begin()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	var indexes []*sweeps.Index
	var list []*input
	for _, dir := range c.Dirs {
		x, in, err := readIndex(dir, c.Output)
		if err != nil {
			return nil, err
		}
		indexes, list = append(indexes, x), append(list, in)
		if err := sameCells(c.Dirs[0], dir, indexes[0].Cells, x.Cells); err != nil {
			return nil, err
		}
	}
	x := joinIndexes(indexes, list, c.Argv)
	s = &Sweep{Dir: c.Output, Dirs: len(c.Dirs)}
	return s, c.newFolder(func(tmp string) error { return s.build(tmp, c, x, list) })
}

// build writes the folder into tmp.
func (s *Sweep) build(tmp string, c Config, x *sweeps.Index, list []*input) (err error) {
	unlock, err := results.Lock(tmp, results.DefaultOwner())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	commands, _ := limitOfAll(list)
	for _, cell := range x.Cells {
		part := c
		part.Dirs, part.Output, part.cell = nil, filepath.Join(tmp, cell.Folder), cell.Folder
		var unbegun []*input
		for _, in := range list {
			dir := filepath.Join(in.dir, cell.Folder)
			if _, err := os.Stat(filepath.Join(dir, manifest.File)); errors.Is(err, fs.ErrNotExist) {
				unbegun = append(unbegun, &input{manifest: &manifest.Manifest{}, force: in.force.Cell(cell.Folder)})
			} else {
				part.Dirs = append(part.Dirs, dir)
			}
		}
		merged, b := Cell{Folder: cell.Folder}, &builder{Config: part}
		if len(part.Dirs) > 0 {
			if merged.Merged, b, err = merge(part); err != nil {
				return fmt.Errorf("%s: %w", cell.Folder, err)
			}
			merged.moved(filepath.Join(c.Output, cell.Folder))
		}
		b.inputs = append(b.inputs, unbegun...)
		for _, r := range b.commands() {
			r.Instance = cell.Folder + "/" + r.Instance
			commands = append(commands, r)
		}
		s.Cells = append(s.Cells, merged)
	}
	if err := c.concat(tmp, "batch.log"); err != nil {
		return err
	}
	if err := writeControl(tmp, commands); err != nil {
		return err
	}
	return x.Write(tmp)
}

// readIndex reads the index of a sweep that is merged into output, and what is asked of all its cells
// together.
func readIndex(dir, output string) (*sweeps.Index, *input, error) {
	x, err := sweeps.Read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fault.Newf(fault.Usage, "%s is not the folder of a sweep: it has no %s", dir, sweeps.File).
			WithHint("merge sweeps with sweeps, and run directories with run directories")
	}
	if err != nil {
		return nil, nil, err
	}
	if len(x.Cells) == 0 || slices.ContainsFunc(x.Cells, func(c sweeps.Cell) bool { return c.Request == nil }) {
		return nil, nil, noRequest(filepath.Join(dir, sweeps.File), "sweep", dir)
	}
	h, err := control.Read(dir)
	if err != nil {
		return nil, nil, err
	}
	whole := &manifest.Manifest{Request: &manifest.Request{Shard: x.Cells[0].Request.Shard, CostLimit: x.CostLimit}}
	return x, &input{dir: dir, manifest: whole, force: h.InForce()}, outside(output, dir)
}

// sameCells refuses sweeps whose cells differ in more than their shard.
func sameCells(first, other string, a, b []sweeps.Cell) error {
	var differ []string
	for _, one := range []struct {
		dir           string
		cells, others []sweeps.Cell
	}{{first, a, b}, {other, b, a}} {
		for _, c := range one.cells {
			if at := find(one.others, c); at < 0 {
				differ = append(differ, printable.Line(c.Folder)+" is only in "+one.dir)
			} else if why := difference(c, one.others[at]); why != "" && one.dir == first {
				differ = append(differ, printable.Line(c.Folder+" has "+why))
			}
		}
	}
	if len(differ) == 0 {
		return nil
	}
	return fault.Newf(fault.Usage, "%s and %s are not shards of one sweep:\n  %s", first, other, strings.Join(differ, "\n  ")).
		WithHint("merge folders that the same `batch sweep` made, with different shards")
}

func find(cells []sweeps.Cell, c sweeps.Cell) int {
	return slices.IndexFunc(cells, func(other sweeps.Cell) bool { return other.Folder == c.Folder })
}

// difference says in what two cells with the same name differ; "" in nothing but their shard.
func difference(a, b sweeps.Cell) string {
	one, err1 := dataset.ParseShard(a.Request.Shard)
	other, err2 := dataset.ParseShard(b.Request.Shard)
	switch {
	case a.Model != b.Model:
		return "other models: " + a.Model + " and " + b.Model
	case a.Attempt != b.Attempt || !slices.Equal(a.Config, b.Config):
		return "other configurations"
	case err1 != nil || err2 != nil || one.N != other.N:
		return "other shards: " + cmp.Or(a.Request.Shard, "none") + " and " + cmp.Or(b.Request.Shard, "none")
	case !reflect.DeepEqual(selecting(*a.Request), selecting(*b.Request)):
		return "other instances"
	}
	return ""
}

// joinIndexes returns the index of one sweep in place of several, whose cells are the same.
func joinIndexes(indexes []*sweeps.Index, list []*input, argv []string) *sweeps.Index {
	x := *indexes[0]
	x.Batch, x.Argv, x.Cells = run.Version(), argv, slices.Clone(x.Cells)
	x.CostLimit = limitOf(list, x.Cells[0].Request.Shard != "")
	for _, other := range indexes {
		if other.Created.Before(x.Created) {
			x.Created = other.Created
		}
	}
	for i := range x.Cells {
		c := &x.Cells[i]
		r := *c.Request
		r.Shard, r.CostLimit = "", x.CostLimit
		r.Grade = slices.ContainsFunc(indexes, func(other *sweeps.Index) bool { return other.Cells[find(other.Cells, *c)].Request.Grade })
		c.Request = &r
		c.Argv = slices.DeleteFunc(slices.Clone(c.Argv), func(arg string) bool { return strings.HasPrefix(arg, "--shard=") })
	}
	return &x
}
