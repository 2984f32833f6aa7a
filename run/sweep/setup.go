package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"batch.example/batch/agent/config"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/llm/limit"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/run"
	"batch.example/batch/run/control"
	"batch.example/batch/runner"
)

// Setup is the sweep in a folder, new ([New]) or continued ([Read]), with known cells. Call
// [Setup.Load], [Setup.Configs] and [Setup.Open] next. It is not safe for concurrent use.
type Setup struct {
	Dir   string
	Index *sweeps.Index // has no secrets
	Cells []Cell        // the cells that run; they may have secrets

	run.Continuing                // of all cells
	Control        *control.Begin // as in [run.SweepConfig]

	process run.Process
}

// Cell is a cell that runs.
type Cell struct {
	sweeps.Cell
	// Run is the request for this time. Before Load, a caller may change how it works: widths,
	// waits, retries, hidden texts.
	Run run.Request
	// Setup is nil before Load; after it, changes of Run have no effect.
	Setup *run.Setup

	asked run.Request // for its manifest
	argv  []string
}

// New adds cells, which must have requests, to the sweep in dir, which need not exist yet. The cost
// limit of the requests becomes the sweep's.
func New(dir string, cells []sweeps.Cell, p run.Process) (*Setup, error) {
	cells = slices.Clone(cells)
	for i, c := range cells {
		if c.Request == nil {
			return nil, fault.Newf(fault.Usage, "the cell %s has no request", c.Folder)
		}
		r, err := p.Absolute(*c.Request)
		if err != nil {
			return nil, err
		}
		cells[i].Request = &r
	}
	x, err := sweeps.Read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if list, _ := os.ReadDir(dir); len(list) > 0 {
			return nil, fault.Newf(fault.Usage, "%s is not the folder of a sweep, and is not empty", dir).WithHint("choose another folder with `-o`")
		}
		x, err = &sweeps.Index{Created: time.Now().UTC()}, nil
	}
	if err != nil {
		return nil, err
	}
	x.Batch, x.Argv = run.Version(), p.Argv
	s := &Setup{Dir: dir, Index: x, process: p}
	for _, c := range merge(x, cells) {
		x.Dir, x.CostLimit = c.Request.Dir, c.Request.CostLimit
		if err := s.add(c, filepath.Join(dir, c.Folder)); err != nil {
			return nil, err
		}
	}
	return s, cmp.Or(checkMerged(x), s.checkCells())
}

// Read returns the sweep in dir with all its cells, to continue it.
func Read(dir string, p run.Process) (*Setup, error) {
	x, err := sweeps.Read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Newf(fault.Usage, "%s is not the folder of a sweep: it has no %s", dir, sweeps.File)
	}
	if err != nil {
		return nil, err
	}
	s := &Setup{Dir: dir, Index: x, process: p, Continuing: run.Continuing{Settled: true}}
	for _, c := range x.Cells {
		output, err := filepath.Abs(filepath.Join(dir, c.Folder))
		if err != nil {
			return nil, fault.New(fault.Host, "finding the working directory", err)
		}
		if err := s.add(c, output); err != nil {
			return nil, err
		}
	}
	s.selectAgain()
	return s, s.checkCells()
}

func (s *Setup) checkCells() error {
	if len(s.Cells) == 0 {
		return fault.Newf(fault.Usage, "%s: its index has no cells", s.Dir)
	}
	return nil
}

// selectAgain sets the ids of cells that took them from a file or standard input to the
// instances of the first cell that has begun: the file may have changed.
func (s *Setup) selectAgain() {
	for _, path := range s.Index.Dirs(s.Dir) {
		m, err := run.ReadManifest(path)
		if err != nil {
			continue
		}
		for i := range s.Cells {
			if r := &s.Cells[i].Run; r.InstancesFile != "" {
				r.Only = m.Dataset.Instances
			}
		}
		return
	}
}

// add adds a cell. Its command line names output.
func (s *Setup) add(c sweeps.Cell, output string) error {
	r, err := run.CellRequest(s.Dir, c, s.process)
	s.Cells = append(s.Cells, Cell{
		Cell: c, Run: r, asked: r, argv: config.MaskSpecs(append(slices.Clone(c.Argv), "--output="+output)),
	})
	return err
}

// LimitCost sets the limit in US dollars on what all cells may cost together, for this time and in
// the index; 0 is no limit.
func (s *Setup) LimitCost(dollars float64) {
	s.Index.CostLimit = dollars
	for i := range s.Cells {
		s.Cells[i].Run.CostLimit = dollars
	}
}

// Retry keeps only the cells with instances of a choice, which run again. An empty choice has all
// instances. CELL/ID among its ids is an instance of one cell.
func (s *Setup) Retry(pick run.Choice) error {
	var none error // of the first cell without such an instance
	var cells []Cell
	of, named := map[string][]string{}, map[string]bool{} // by cell; named alone
	for _, id := range pick.IDs {
		cell, own, _ := strings.Cut(id, "/")
		known := false
		for _, c := range s.Cells {
			if own == "" || c.Folder == cell {
				of[c.Folder], known = append(of[c.Folder], cmp.Or(own, id)), true
				named[c.Folder] = named[c.Folder] || own != ""
			}
		}
		if !known {
			return fault.Newf(fault.Usage, "%s has no cell %s", s.Dir, cell).WithHint("`batch status %s` lists them", s.Dir)
		}
	}
	every := len(pick.IDs) == 0
	for _, c := range s.Cells {
		if pick.IDs = of[c.Folder]; pick.IDs == nil && !every {
			continue
		}
		snap, err := sweeps.ReadCell(c.Run.Output)
		if err != nil {
			return err
		}
		if snap == nil && named[c.Folder] {
			return fault.Newf(fault.Usage, "the cell %s of %s has not begun", c.Folder, s.Dir).WithHint("`batch resume` begins it")
		}
		if snap == nil {
			continue
		}
		chosen, err := pick.From(snap)
		if err != nil && named[c.Folder] {
			return err
		}
		if err != nil {
			none = cmp.Or(none, err)
			continue
		}
		c.Run.Only, c.Run.Named = chosen, nil
		cells = append(cells, c)
	}
	if len(cells) == 0 {
		return cmp.Or[error](none, fault.Newf(fault.Usage, "no cell of %s has begun", s.Dir).WithHint("`batch resume` begins them"))
	}
	s.Cells, s.Again = cells, true
	return nil
}

// Load reads the configurations of all cells, and their common dataset. From then on the process's
// mask hides the secrets of the configurations. A message of several cells is shown once. Git may
// be nil.
func (s *Setup) Load(ctx context.Context, git func() *manifest.Git) error {
	common := s.Cells[0].Run
	if s.Again {
		common.Only = nil
		for _, c := range s.Cells {
			common.Only = append(common.Only, c.Run.Only...)
		}
		slices.Sort(common.Only)
		common.Only = slices.Compact(common.Only)
	}
	ds, selected, err := s.process.LoadDataset(ctx, common)
	if err != nil {
		return err
	}
	if err := s.checkSelection(ds, selected); err != nil {
		return err
	}
	p, limits := s.process, new(limit.Pool)
	p.Tell = onceEach(p.Tell)
	for i := range s.Cells {
		c := &s.Cells[i]
		if c.Setup, err = s.load(p, c, ds, selected); err != nil {
			return s.named(i, err)
		}
		c.Setup.Git, c.Setup.Limits = git, limits
		s.measure(ctx, i)
		s.recordParameters(c)
	}
	return nil
}

func (s *Setup) load(p run.Process, c *Cell, ds *dataset.Dataset, selected []dataset.Instance) (in *run.Setup, err error) {
	if s.Again {
		if selected, err = (dataset.Selection{IDs: c.Run.Only}).Apply(ds.Instances); err != nil {
			return nil, err
		}
	}
	if in, err = run.NewSetup(c.Run, p); err != nil {
		return nil, err
	}
	in.Asked, in.Argv, in.Continuing = c.asked, c.argv, s.Continuing
	return in, in.Over(ds, selected)
}

// measure sets the widths of a cell to the widths of the first cell that has them.
func (s *Setup) measure(ctx context.Context, i int) {
	in, first := s.Cells[i].Setup, s.Cells[0].Setup
	in.Workers, in.WidthWhy = first.Workers, first.WidthWhy
	if i == 0 || in.Grade && !slices.ContainsFunc(s.Cells[:i], func(c Cell) bool { return c.Run.Grade }) {
		in.Measure(ctx)
	}
}

// named returns the error of a cell with the cell's name.
func (s *Setup) named(i int, err error) error {
	if len(s.Cells) == 1 {
		return err
	}
	return fmt.Errorf("%s: %w", s.Cells[i].Folder, err)
}

// checkSelection refuses a selection that differs from the selection of the sweep's other
// cells. A sweep that continues may have cells with fewer instances: it was made of shards, and
// some are missing.
func (s *Setup) checkSelection(ds *dataset.Dataset, selected []dataset.Instance) error {
	if s.Again || slices.Contains(s.Accept, "dataset") || slices.Contains(s.Accept, "all") {
		return nil
	}
	now := map[string]bool{}
	for _, in := range selected {
		now[in.ID] = true
	}
	for _, cell := range s.Index.Cells {
		m, err := run.ReadManifest(filepath.Join(s.Dir, cell.Folder))
		if err != nil {
			continue // it has not begun
		}
		others := func(id string) bool { return !now[id] }
		same := !slices.ContainsFunc(m.Dataset.Instances, others) && (s.Settled || len(m.Dataset.Instances) == len(selected))
		if !same || ds.Digest != m.Dataset.Digest {
			return fault.Newf(fault.Usage, "%s has other instances than those selected now: %d of %s, not %d of %s", s.Dir,
				m.Dataset.Count, m.Dataset.Title(), len(selected), run.Title(ds)).
				WithHint("all cells of a sweep run the same instances: choose another folder with `-o`, or accept the difference\nwith `--accept-changes=dataset`")
		}
	}
	return nil
}

// recordParameters notes in the index the parameters in which attempts usually differ.
func (s *Setup) recordParameters(c *Cell) {
	params := map[string]any{}
	for _, name := range []string{"seed", "temperature"} {
		if v, ok := c.Setup.Settings.Model.ModelKwargs[name]; ok {
			params[name] = v
		}
	}
	s.Index.Cells[find(s.Index, c.Cell)].Parameters = params
}

// Configs returns the runs of all cells, in their order, with common widths. Change, if not nil,
// adds to each what only the caller knows.
func (s *Setup) Configs(change func(i int, c *run.Config) error) ([]run.Config, error) {
	list := make([]run.Config, len(s.Cells))
	for i, cell := range s.Cells {
		c, err := cell.Setup.Config()
		if err == nil && change != nil {
			err = change(i, &c)
		}
		if err != nil {
			return nil, s.named(i, err)
		}
		list[i] = c
	}
	share(list)
	return list, nil
}

// Plan returns the plan of the run of cell i.
func (s *Setup) Plan(ctx context.Context, i int, c run.Config) (*run.Plan, error) {
	plan, err := run.NewPlan(ctx, c)
	if err != nil {
		return nil, s.named(i, err)
	}
	return plan, nil
}

// Open makes the sweep's folder and opens the runs that [Setup.Configs] returned. All checks come
// first. The caller must Close the sweep.
func (s *Setup) Open(ctx context.Context, configs []run.Config) (*run.Sweep, error) {
	for i, c := range configs {
		c.Tell = func(string) {} // the run says it
		if _, err := s.Plan(ctx, i, c); err != nil {
			return nil, err
		}
	}
	if err := results.MakeDir(s.Dir); err != nil {
		return nil, err
	}
	shard, err := s.Shard()
	if err != nil {
		return nil, err
	}
	c := run.SweepConfig{Dir: s.Dir, Control: s.Control, CostLimit: s.Index.CostLimit / float64(shard.N), Locked: s.writeIndex}
	mine := map[string]bool{}
	for i, cell := range s.Cells {
		c.Cells = append(c.Cells, run.Cell{Name: cell.Folder, Config: configs[i]})
		mine[cell.Folder] = true
	}
	if c.CostLimit > 0 {
		if c.Spent, err = s.Index.Spent(s.Dir, mine); err != nil {
			return nil, err
		}
	}
	return run.OpenSweep(ctx, c)
}

// Shard returns the part of the dataset that the cells work on. The parts share the sweep's cost
// limit equally.
func (s *Setup) Shard() (dataset.Shard, error) { return dataset.ParseShard(s.Cells[0].Run.Shard) }

// share gives all cells the widths of the first cell that has them: later cells may be
// graded although the first ones are not.
func share(list []run.Config) {
	var grading *runner.Width
	for i := range list {
		list[i].Width, list[i].WidthWhy = list[0].Width, ""
		if g := list[i].Grading; g != nil {
			grading = cmp.Or(grading, g.Width)
			g.Width = grading
		}
	}
}

// writeIndex writes the index, with the cells that another sweep has added meanwhile. The
// folder must be locked.
func (s *Setup) writeIndex() error {
	now, err := sweeps.Read(s.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil {
		for _, c := range now.Cells {
			if find(s.Index, c) < 0 {
				s.Index.Cells = append(s.Index.Cells, c)
			}
		}
	}
	if err := checkMerged(s.Index); err != nil {
		return err
	}
	return s.Index.Write(s.Dir)
}

// onceEach returns a function that passes each text on once.
func onceEach(tell func(string)) func(string) {
	var said sync.Map
	return func(text string) {
		if _, again := said.LoadOrStore(text, true); !again && tell != nil {
			tell(text)
		}
	}
}
