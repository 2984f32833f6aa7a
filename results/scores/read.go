package scores

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/regular"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/swebench"
)

// Options has facts that a path alone does not give.
type Options struct {
	// Instances has the ids of the dataset, for reports that list only resolved instances: the
	// others are unresolved. Nil: such a report is refused.
	Instances []string
}

// Read is [Options.Read] without options.
func Read(path string) ([]Side, error) { return Options{}.Read(path) }

// Read reads the entries at a path. The folder of a sweep has an entry for each model with its
// configuration, and an official tree of logs one for each model of a run. These have one:
//
//   - a run directory, and an output folder of mini-swe-agent; without grades of batch, the
//     verdicts come from the official reports in it
//   - a submission to the public leaderboard: metadata.yaml, results/results.json, and if
//     present all_preds.jsonl, logs, trajs and per_instance_details.json
//   - a file: an official final report of any version, or a report.json
//
// Instances without a verdict in a report are left out. Errors of the harness count as not
// resolved, as in its own figure, and a note counts them. Any other path and a malformed file
// are Usage faults; for a file, the fault names the member.
func (o Options) Read(path string) ([]Side, error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.IsDir():
		return o.readFile(path)
	case err == nil && sweeps.Is(path):
		return readSweep(path)
	case err == nil && !exists(filepath.Join(path, manifest.File)) && swebench.IsSubmission(path):
		e, err := o.readBoard(path)
		return []Side{e}, err
	}
	a, err := readRun(path)
	if err == nil {
		return []Side{{Name: nameOf(path), Model: modelOf(a.Snapshot), Runs: []Run{a}}}, nil
	}
	if info == nil || fault.KindOf(err) != fault.Usage || exists(filepath.Join(path, manifest.File)) || exists(filepath.Join(path, swebench.PredsName)) {
		return nil, err
	}
	return treeEntries(path, err)
}

// treeEntries reads an official tree of logs. Without instances it is not a run
// directory.
func treeEntries(path string, notARun error) ([]Side, error) {
	runs, err := swebench.ReadTree(path)
	if err != nil {
		return nil, err
	}
	if len(runs) == 0 {
		return nil, notARun
	}
	var list []Side
	for _, r := range runs {
		e := Side{Name: r.Model, Model: r.Model, Runs: []Run{runOf(r.Path, r.Verdicts)}}
		if len(runs) > 1 && r.Run != "" {
			e.Name = r.Run + "/" + r.Model
		}
		list = append(list, e)
	}
	return list, nil
}

// readFile reads an official report.
func (o Options) readFile(path string) ([]Side, error) {
	text, err := regular.ReadFile(path)
	if err != nil {
		return nil, fault.New(fault.Usage, "reading scores", err)
	}
	v, final, err := swebench.ParseFinal(path, text, o.Instances)
	if !final {
		v, err = swebench.ParseReports(path, text)
		err = hinted(err)
	}
	if err != nil {
		return nil, err
	}
	name := strings.TrimSuffix(filepath.Base(path), ".json")
	return []Side{{Name: name, Runs: []Run{runOf(path, v)}}}, nil
}

// hinted adds a hint about the readable formats, unless err has better advice.
func hinted(err error) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Hint != "" {
		return err
	}
	return f.WithHint("expected a run directory, a sweep, a folder of mini-swe-agent, or a report of the SWE-bench harness")
}

// readSweep reads the cells of a sweep that have begun.
func readSweep(dir string) ([]Side, error) {
	x, err := sweeps.Read(dir)
	if err != nil {
		return nil, err
	}
	var list []Side
	at := map[string]int{}
	for i, path := range x.Dirs(dir) {
		cell := x.Cells[i]
		a, err := readCell(path)
		if err != nil {
			return nil, err
		}
		e, ok := at[cell.Entry]
		if !ok {
			e = len(list)
			at[cell.Entry] = e
			list = append(list, Side{Name: cell.Entry, Model: cell.Model})
		}
		list[e].Runs = append(list[e].Runs, a)
	}
	return list, nil
}

// readCell reads the run directory of a cell, if it exists.
func readCell(path string) (Run, error) {
	snap, err := sweeps.ReadCell(path)
	switch {
	case err != nil:
		return Run{}, err
	case snap == nil:
		return Run{Path: path, Notes: []string{"it has not begun"}}, nil
	}
	return withReports(snap)
}

// nameOf returns the name of a folder, also of ".".
func nameOf(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return filepath.Base(path)
}

// modelOf returns the model in a run directory's manifest, or without one the model of its
// records.
func modelOf(snap *results.Snapshot) string {
	if snap.Manifest != nil && snap.Manifest.Model != "" {
		return snap.Manifest.Model
	}
	for _, r := range snap.Records {
		if r.Model != "" {
			return r.Model
		}
	}
	return ""
}
