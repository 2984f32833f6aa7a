// Package scores reads how models scored, instance by instance, for comparisons: from run
// directories, from sweeps, and from other tools' files.
//
// An instance has no score if it failed for infrastructure reasons, has no verdict or is
// quarantined. It is left out, with the reason.
package scores

import (
	"cmp"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/regular"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/vocab"
)

// Side is one side of a comparison: a model with a configuration, and its runs over the
// instances.
type Side struct {
	Name  string // as tables show it
	Model string // model_name_or_path; empty if unknown
	Runs  []Run
}

// Run is one run of a side over the instances.
type Run struct {
	Path     string
	Scores   map[string]Score  // by instance id, of all instances asked for
	Snapshot *results.Snapshot // nil: Path is not a run directory
	Notes    []string          // descriptions of damaged and missing data
}

// Instance has the scores of a side's runs at one instance.
type Instance struct {
	ID       string
	Repo     string  // owner/name; empty if unknown
	Scored   int     // runs with a score
	Resolved int     // of Scored
	Scores   []Score // of each run, in order
}

// Rate returns the mean of the runs with a score. There must be at least one.
func (in Instance) Rate() float64 { return float64(in.Resolved) / float64(in.Scored) }

// Flaky reports whether some runs resolved the instance and others did not.
func (in Instance) Flaky() bool { return 0 < in.Resolved && in.Resolved < in.Scored }

// Instances returns the instances for which any run was asked, sorted by id.
func (e Side) Instances() []Instance {
	ids := map[string]bool{}
	for _, r := range e.Runs {
		for id := range r.Scores {
			ids[id] = true
		}
	}
	var list []Instance
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		in := Instance{ID: id}
		for _, r := range e.Runs {
			s := r.At(id)
			in.Repo, in.Scores = cmp.Or(in.Repo, s.Repo), append(in.Scores, s)
			if s.Resolved != nil {
				in.Scored++
				if *s.Resolved {
					in.Resolved++
				}
			}
		}
		list = append(list, in)
	}
	return list
}

// Score is the result of one attempt at one instance. Unknown values are nil.
type Score struct {
	ID       string
	Repo     string // owner/name; empty if unknown
	Resolved *bool  // nil: left out of all rates, for the reason Left
	Left     Reason
	Steps    *int     // model calls
	Cost     *float64 // US dollars of answered calls
	Held     float64  // possible cost of other calls in US dollars, if Cost is known
	Unpriced int      // answered calls of unknown price, which are not in Cost
	Seconds  *float64 // of the attempt, without waiting for a worker
	Patch    *string  // digest of the predicted patch; empty if it is
}

// Reason says why an instance has no score.
type Reason string

// The reasons for leaving an instance out.
const (
	Infrastructure Reason = "infrastructure"             // the engine, network, provider, image or machine failed, in the run or in grading
	NoResult       Reason = Reason(swebench.NoResult)    // it has not run, or not to its end
	NotGraded      Reason = Reason(swebench.NotGraded)   // it has a result, and no verdict that counts
	Quarantined    Reason = Reason(swebench.Quarantined) // quarantine.txt lists it
	Missing        Reason = "missing"                    // the run was not asked for it
)

// Reasons are all reasons, in the order in which tables show them.
func Reasons() []Reason {
	return []Reason{Infrastructure, NoResult, NotGraded, Quarantined, Missing}
}

// At returns the score of an instance; an unknown instance is Missing.
func (a Run) At(id string) Score {
	if s, ok := a.Scores[id]; ok {
		return s
	}
	return Score{ID: id, Left: Missing}
}

// RepoOf returns the repository in an id of SWE-bench's form, OWNER__NAME-NUMBER:
// "owner/name". It is empty if the id has another form.
func RepoOf(id string) string {
	owner, rest, ok := strings.Cut(id, "__")
	i := strings.LastIndexByte(rest, '-')
	if !ok || i < 0 {
		return ""
	}
	return owner + "/" + rest[:i]
}

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

// readRun reads a run directory, or a folder of mini-swe-agent. If batch has not graded it,
// the verdicts come from official reports beside its predictions.
func readRun(dir string) (Run, error) {
	snap, err := results.Read(dir)
	if err != nil {
		return Run{}, err
	}
	return withReports(snap)
}

// withReports returns the attempt of a run directory. If batch has graded nothing, the
// verdicts come from reports beside it.
func withReports(snap *results.Snapshot) (Run, error) {
	a := FromSnapshot(snap)
	if snap.GradingBegan {
		return a, nil
	}
	v, err := swebench.Beside(snap.Dir, manifest.File)
	if err != nil {
		return Run{}, err
	}
	last, errs := results.Latest(snap.Records), 0
	for id, s := range a.Scores {
		r := results.LatestOf(last, id)
		one, known := v[id]
		if len(v) > 0 && r.PatchBytes == 0 {
			known = true // a tree of logs does not have it: there was nothing to test
		}
		switch {
		case !known, s.Left == Quarantined:
		case s.Left == NotGraded, r.Status == vocab.StatusUnknown:
			s.take(one)
			a.Scores[id] = s
			if one.Error {
				errs++
			}
		}
	}
	a.noteErrors(errs)
	return a, nil
}
