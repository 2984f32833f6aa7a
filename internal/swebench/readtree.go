package swebench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/regular"
)

// TreeRun has the verdicts of one model's run in a tree of logs.
type TreeRun struct {
	Run, Model string // names of the folders; Run is empty if the tree has no level for runs
	Path       string
	Verdicts   Verdicts
}

// ReadTree reads the reports in an official tree of logs, RUN/MODEL/ID/report.json, from any of its
// levels. An instance's folder with a log but without a report is an error, as in the harness's final
// report.
func ReadTree(root string) ([]*TreeRun, error) {
	abs, err := filepath.Abs(root)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return nil, readingTree(err)
	}
	runs := map[string]*TreeRun{}
	err = filepath.WalkDir(abs, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return readingTree(err)
		}
		if !d.IsDir() || path == abs || !isInstance(path) {
			return nil
		}
		above := filepath.Dir(path)
		if runs[above] == nil {
			runs[above] = newTreeRun(abs, root, above)
		}
		v, err := readInstance(path)
		if err != nil {
			return err
		}
		runs[above].Verdicts[filepath.Base(path)] = v
		return fs.SkipDir
	})
	if err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Values(runs), func(a, b *TreeRun) int { return strings.Compare(a.Path, b.Path) }), nil
}

// mergedTree reads a tree of one submission and merges its runs into one verdict for each instance.
func mergedTree(root string) (Verdicts, error) {
	runs, err := ReadTree(root)
	all := Verdicts{}
	for _, r := range runs {
		if err := all.add(r.Verdicts); err != nil {
			return nil, err
		}
	}
	return all, err
}

// isInstance reports whether a folder has an instance's report or log.
func isInstance(path string) bool {
	return slices.ContainsFunc([]string{ReportName, RunLogName}, func(name string) bool {
		info, err := os.Lstat(filepath.Join(path, name))
		return err == nil && info.Mode().IsRegular()
	})
}

// newTreeRun names a run after the folders at and above path.
func newTreeRun(root, given, path string) *TreeRun {
	r := &TreeRun{Model: filepath.Base(path), Path: path, Verdicts: Verdicts{}}
	if rel, err := filepath.Rel(root, path); err == nil {
		r.Path = filepath.Join(given, rel)
	}
	if r.Model == "logs" { // submissions to the leaderboard have NAME/logs/ID
		r.Model = filepath.Base(filepath.Dir(path))
		return r
	}
	if run := filepath.Base(filepath.Dir(path)); filepath.Base(filepath.Dir(filepath.Dir(path))) == "run_evaluation" {
		r.Run = run
	}
	return r
}

// readInstance reads the folder of an instance.
func readInstance(dir string) (Verdict, error) {
	path, id := filepath.Join(dir, ReportName), filepath.Base(dir)
	if _, err := os.Stat(path); err != nil {
		return Verdict{Error: true, File: dir}, nil
	}
	text, err := regular.ReadFile(path)
	if err != nil {
		return Verdict{}, reading(err)
	}
	if len(bytes.TrimSpace(text)) == 0 { // the harness was ended while it wrote
		return Verdict{Error: true, File: path}, nil
	}
	one, err := parseReport(path, id, text)
	if err != nil {
		return Verdict{}, err
	}
	return one.verdict(path, id)
}

// instanceReport has the members of an instance's report.json that matter here.
type instanceReport struct {
	Resolved *bool `json:"resolved"`
}

// parseReport reads text, the content of the report.json at path, for the instance that its folder
// is named after.
func parseReport(path, id string, text []byte) (one instanceReport, err error) {
	var members map[string]json.RawMessage
	if err := decode(path, "", text, &members); err != nil {
		return one, err
	}
	member, ok := members[id]
	if !ok {
		return one, malformed(path, "", fmt.Errorf("it has no member %q, which its folder is named after", id))
	}
	err = decode(path, id, member, &one)
	return one, err
}

func (r instanceReport) verdict(path, id string) (Verdict, error) {
	if r.Resolved == nil {
		return Verdict{}, malformed(path, id, errors.New(`it has no member "resolved"`))
	}
	return Verdict{Resolved: *r.Resolved, File: path}, nil
}

// ParseReports reads text, the content of the file at path, as a report.json without a tree: an
// object that is keyed by instance.
func ParseReports(path string, text []byte) (Verdicts, error) {
	var members map[string]json.RawMessage
	if err := decode(path, "", text, &members); err != nil {
		return nil, err
	}
	all := Verdicts{}
	for id, text := range members {
		var one instanceReport
		err := decode(path, id, text, &one)
		if err == nil {
			all[id], err = one.verdict(path, id)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(all) == 0 {
		return nil, fault.Newf(fault.Usage, "reading %s: it has no verdict", path)
	}
	return all, nil
}
