package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"batch.example/batch/audit"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/scores"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/results/trajectory"
	"batch.example/batch/run"
	"batch.example/batch/view/report"
)

// auditor reads attempts one by one and hands over what the detectors find. It opens a dataset
// once for all runs that have it.
type auditor struct {
	*app
	all    bool // all attempts at an instance, and not only the last one
	named  *dataset.Dataset
	opened map[string]rowsOf
	kept   *keptAudits // what an earlier report has kept of the place; nil: it is not asked
}

// rowsOf has the rows of a dataset by instance, or why there are none.
type rowsOf struct {
	rows   map[string]*dataset.Instance
	digest string // of the dataset
	why    string
}

// audited has the findings in an attempt.
type audited struct {
	Directory string
	Found     []audit.Finding
	Not       []audit.NotChecked
}

// auditPlace is a folder with attempts, or one trajectory's file.
type auditPlace struct {
	name string // for notes
	dir  string
	cell string // as of a holder
	file string
	snap *results.Snapshot // nil: a folder of trajectories, or a file
	ids  []string          // the instances that have an attempt, sorted

	looking   sync.Mutex
	predicted *results.Reader // nil: not opened yet; guarded by looking
}

// placesIn returns the places that a path names: a run directory, the cells of a sweep, a folder of
// trajectories or a file.
func placesIn(path string) ([]*auditPlace, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fault.New(fault.Usage, "reading "+path, err).WithHint("name a run directory, or a .traj.json file")
	case err == nil && !info.IsDir():
		return []*auditPlace{{name: path, dir: filepath.Dir(path), file: path}}, nil
	}
	dirs, err := sweeps.Runs(path)
	if err != nil {
		return nil, err
	}
	var list []*auditPlace
	for _, dir := range dirs {
		p, failed := placeOf(dir)
		p.cell, err = cellIn(path, dir), cmp.Or(err, failed)
		list = append(list, p)
	}
	if err == nil {
		return list, nil
	}
	files, _ := filepath.Glob(filepath.Join(path, "*.traj.json")) //nolint:errcheck // the pattern is right, unless the path is one
	if len(files) == 0 {
		return nil, err
	}
	list = nil
	for _, file := range files {
		list = append(list, &auditPlace{name: path, dir: path, file: file})
	}
	return list, nil
}

// placeOf reads one run directory, or a folder of another tool's trajectories.
func placeOf(dir string) (*auditPlace, error) {
	p := &auditPlace{name: dir, dir: dir, ids: trajectory.Instances(dir)}
	snap, err := results.Read(dir)
	if err != nil {
		if len(p.ids) > 0 && fault.KindOf(err) == fault.Usage {
			err = nil
		}
		return p, err
	}
	p.of(snap)
	return p, nil
}

// of adds the instances that a run directory has predictions of.
func (p *auditPlace) of(snap *results.Snapshot) {
	p.snap = snap
	for id := range snap.Patches {
		p.ids = append(p.ids, id)
	}
	slices.Sort(p.ids)
	p.ids = slices.Compact(p.ids)
}

// attempts returns the numbers of the attempts at an instance; -1 is the last one.
func (p *auditPlace) attempts(id string, all bool) []int {
	if !all || p.snap == nil {
		return []int{-1}
	}
	var numbers []int
	for _, r := range p.snap.Records {
		if r.InstanceID == id && r.Attempt > 0 {
			numbers = append(numbers, r.Attempt)
		}
	}
	slices.Sort(numbers)
	if numbers = slices.Compact(numbers); numbers == nil {
		return []int{-1}
	}
	return numbers
}

// place audits the attempts at the instances of a place that keep accepts, in order.
func (a *auditor) place(ctx context.Context, p *auditPlace, keep func(id string) bool, each func(audited)) (notes []string, err error) {
	if p.snap != nil {
		a.hideOfRun(p.snap.Manifest)
	}
	rows := a.rowsFor(ctx, p)
	if p.file != "" {
		v, err := trajectory.Source{File: p.file, Attempt: -1}.Read(a.mask)
		if err != nil {
			return nil, err
		}
		if keep(v.Instance) {
			each(a.attempt(p.file, v, rows))
		}
	}
	if rows.why != "" {
		notes = append(notes, p.name+": "+rows.why)
	}
	type attempt struct {
		id     string
		number int
		found  audited
		err    error
	}
	var list []attempt
	for _, id := range p.ids {
		if !keep(id) {
			continue
		}
		for _, number := range p.attempts(id, a.all) {
			list = append(list, attempt{id: id, number: number})
		}
	}
	for some := range slices.Chunk(list, 4*runtime.GOMAXPROCS(0)) { // what was found is handed over soon
		var group errgroup.Group
		group.SetLimit(runtime.GOMAXPROCS(0))
		for i := range some {
			group.Go(func() error {
				one := &some[i]
				one.found, one.err = a.kept.or(p.dir, one.id, rows, func() (audited, error) { return a.read(p, one.id, one.number, rows) })
				return nil
			})
		}
		_ = group.Wait() // its goroutines return no error
		if err := ctx.Err(); err != nil {
			return notes, err
		}
		for _, one := range some {
			if one.err != nil {
				notes = append(notes, one.id+": "+oneLine(one.err.Error()))
			}
			each(one.found)
		}
	}
	return notes, nil
}

// read audits an attempt of a directory. Without a readable trajectory, it audits the prediction,
// and the error says why if the trajectory is there.
func (a *auditor) read(p *auditPlace, id string, number int, rows rowsOf) (audited, error) {
	v, err := trajectory.Source{Dir: p.dir, Instance: id, Attempt: number}.Read(a.mask)
	if err == nil {
		return a.attempt(p.dir, v, rows), nil
	}
	why := "its trajectory cannot be read"
	if errors.Is(err, fs.ErrNotExist) {
		why, err = "it has no trajectory", nil
	}
	v = &trajectory.View{Instance: id, Attempt: max(0, number)}
	if number < 0 {
		v.Patch = p.prediction(id)
	}
	out := a.attempt(p.dir, v, rows)
	for _, d := range audit.Detectors() {
		checked := slices.ContainsFunc(out.Not, func(n audit.NotChecked) bool { return n.Detector == d.Name })
		if !checked && (d.BySteps || v.Patch == nil) {
			out.Not = append(out.Not, audit.NotChecked{Detector: d.Name, Instance: id, Attempt: v.Attempt, Why: why})
		}
	}
	return out, err
}

// prediction returns the predicted patch of an instance; nil if there is none.
func (p *auditPlace) prediction(id string) *trajectory.Patch {
	if p.snap == nil || p.snap.Patches[id] == "" {
		return nil
	}
	p.looking.Lock()
	defer p.looking.Unlock()
	var err error
	if p.predicted == nil {
		if p.predicted, err = results.Look(p.dir); err != nil {
			return nil
		}
	}
	if list, err := p.predicted.Predictions([]string{id}); err == nil && len(list) > 0 {
		return &trajectory.Patch{Text: list[0].Patch}
	}
	return nil
}

func (a *auditor) attempt(dir string, v *trajectory.View, rows rowsOf) audited {
	found, not := audit.Attempt(v, rows.rows[v.Instance], a.mask)
	return audited{dir, found, not}
}

// rowsFor returns the rows of a run's dataset, as they were when it ran. It uses the named
// dataset if there is one. It downloads nothing.
func (a *auditor) rowsFor(ctx context.Context, p *auditPlace) rowsOf {
	var m *manifest.Manifest
	if p.snap != nil {
		m = p.snap.Manifest
	}
	switch {
	case a.named != nil:
		return rowsOf{rows: byID(a.named), digest: a.named.Digest}
	case m == nil || m.Dataset.Name == "":
		return rowsOf{why: "its dataset is not known: name it with --subset"}
	}
	key := strings.Join([]string{run.DatasetOf(m), m.Dataset.Split, m.Dataset.Revision, m.Dataset.Digest}, "\x00")
	if rows, known := a.opened[key]; known {
		return rows
	}
	rows := a.open(ctx, m)
	if a.opened == nil {
		a.opened = map[string]rowsOf{}
	}
	a.opened[key] = rows
	return rows
}

func (a *auditor) open(ctx context.Context, m *manifest.Manifest) rowsOf {
	ds, err := a.openHere(ctx, run.DatasetOf(m), m.Dataset.Split, m.Dataset.Revision)
	switch {
	case err != nil:
		return rowsOf{why: "its dataset cannot be read: " + cmp.Or(oneLine(err.Error()), m.Dataset.Name)}
	case m.Dataset.Digest != "" && ds.Digest != m.Dataset.Digest:
		return rowsOf{why: "its dataset has changed since the run: name the right one with --subset"}
	}
	return rowsOf{rows: byID(ds), digest: ds.Digest}
}

func byID(ds *dataset.Dataset) map[string]*dataset.Instance {
	rows := make(map[string]*dataset.Instance, len(ds.Instances))
	for i := range ds.Instances {
		rows[ds.Instances[i].ID] = &ds.Instances[i]
	}
	return rows
}

// auditEntries audits the last attempts of the entries of a report.
func (a *app) auditEntries(ctx context.Context, entries []scores.Side) (*report.Audit, error) {
	out := &report.Audit{}
	by := auditor{app: a}
	for i, e := range entries {
		for n, r := range e.Runs {
			if r.Snapshot == nil {
				out.Notes = append(out.Notes, r.Path+": not audited, because it is not a run directory")
				continue
			}
			p := &auditPlace{name: r.Path, dir: r.Path, ids: trajectory.Instances(r.Path)}
			p.of(r.Snapshot)
			by.kept = a.openKept(r.Path)
			notes, err := by.place(ctx, p, func(string) bool { return true }, func(one audited) {
				out.Attempts++
				for _, f := range one.Found {
					out.Findings = append(out.Findings, report.Finding{Finding: f, Entry: i, Run: n})
				}
			})
			if err != nil {
				return nil, err
			}
			by.kept.save()
			out.Notes = append(out.Notes, notes...)
		}
	}
	if more := len(out.Notes) - mostNotes; more > 0 {
		out.Notes = append(out.Notes[:mostNotes], "and more like these: batch audit lists them")
	}
	return out, nil
}
