package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/manifest"
	"batch.example/batch/run"
)

// Words in place of predictions.
const (
	wordGold  = "gold"  // each row's own patch
	wordEmpty = "empty" // no patch: the tests run on the code as it is
)

// gradeTarget is the argument of `batch grade`: one of these, or none with --check.
type gradeTarget struct {
	dir  string // a run directory, or another tool's with a preds.json
	file string // of predictions
	word string
}

// target finds out what the argument names, and where the grades go.
func (f *gradeFlags) target() (t gradeTarget, err error) {
	if f.tests.Options.Unfilled {
		if f.Output == "" {
			f.Output = filepath.Join("runs", "fill-"+baseName(f.Subset))
		}
		return t, nil
	}
	if f.goldCheck {
		if f.Output == "" {
			f.Output = filepath.Join("runs", "check-"+baseName(f.Subset))
		}
		return t, nil
	}
	name := f.what
	info, err := os.Stat(name)
	switch {
	case name == wordGold || name == wordEmpty:
		t.word = name
	case errors.Is(err, fs.ErrNotExist):
		return t, fault.Newf(fault.Usage, "%s does not exist", name).
			WithHint("name a run directory, a file of predictions, or gold or empty")
	case err != nil:
		return t, fault.New(fault.Usage, "reading predictions", err)
	case !info.IsDir():
		t.file = name
	case f.Output != "":
		return t, fault.Newf(fault.Usage, "-o %s: the grades of %s go into the directory itself", f.Output, name).
			WithHint("leave -o out, or name its preds.json to grade into another directory")
	default:
		t.dir, f.Output = name, name
	}
	if f.Output == "" {
		f.Output = filepath.Join("runs", "grade-"+baseName(name))
		if t.word != "" {
			f.Output += "-" + baseName(f.Subset)
		}
	}
	return t, nil
}

// baseName returns the name of a file or dataset as a part of a folder's name.
func baseName(path string) string {
	name := filepath.Base(path)
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// absolute makes the paths of the flags independent of the working directory.
func (f *gradeFlags) absolute() error {
	for _, path := range []*string{&f.Output, &f.quarantine, &f.tests.Options.Parser, &f.tests.Options.EvalScript, &f.tests.Options.RunScripts, &f.tests.Assets} {
		if *path == "" {
			continue
		}
		abs, err := absolute(*path)
		if err != nil {
			return err
		}
		*path = abs
	}
	return nil
}

// selectionFlags are the flags that choose instances of a dataset.
var selectionFlags = []string{"filter", "slice", "instances", "shard", "shuffle"}

// fromManifest takes the dataset and the configuration from the manifest of a run
// directory, unless flags name them.
func (f *gradeFlags) fromManifest(dir string, p run.Process) error {
	m, err := manifest.Read(dir)
	named := f.given("subset")
	switch {
	case errors.Is(err, fs.ErrNotExist) && named:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(filepath.Join(dir, swebench.PredsName)); err != nil {
			return results.NotARun(dir, "it has neither a manifest.json nor a preds.json")
		}
		return fault.Newf(fault.Usage, "%s has no manifest.json that names its dataset", dir).
			WithHint("name it with --subset, such as --subset verified")
	case err != nil:
		return err
	}
	if named { // a path is of this directory, and not of the run's
		own, err := p.Absolute(run.Request{Subset: f.Subset})
		if err != nil {
			return err
		}
		f.Subset = own.Subset
	}
	if err := f.takeRun(dir, m, p); err != nil || named {
		return err
	}
	f.Subset, f.Split, f.Revision, f.digest = run.DatasetOf(m), m.Dataset.Split, m.Dataset.Revision, m.Dataset.Digest
	if len(f.Named) == 0 && !f.given(selectionFlags...) {
		f.Only = m.Dataset.Instances
	}
	return nil
}

// takeRun takes the settings of the containers and the masks from the `batch run` that made a
// directory.
func (f *gradeFlags) takeRun(dir string, m *manifest.Manifest, p run.Process) error {
	if m.Command != "run" || m.Request != nil && m.Request.Secret() != "" {
		return nil
	}
	var with []string
	if f.given("config") {
		with = f.Configs
	}
	r, err := p.Tested(dir, m, with)
	if err != nil {
		return err
	}
	r.MaskPatterns = append(r.MaskPatterns, f.MaskPatterns...)
	given := over(r, f.own)
	f.Dir, f.Configuration, f.MaskPatterns, f.ImagePrefix = r.Dir, given.Configuration, r.MaskPatterns, given.ImagePrefix
	return nil
}

// quarantined returns the text of the file of --quarantine, nil without the flag, and its ids: one
// per line; # begins a comment. All must be of ds.
func (f *gradeFlags) quarantined(ds *dataset.Dataset) (text []byte, ids []string, err error) {
	if f.quarantine == "" {
		return nil, nil, nil
	}
	text, err = os.ReadFile(f.quarantine)
	if err == nil {
		ids, err = grades.ParseQuarantine(f.quarantine, string(text))
	}
	if err == nil && len(ids) > 0 {
		_, err = (dataset.Selection{IDs: ids}).Apply(ds.Instances)
	}
	if err != nil {
		return nil, nil, fault.New(fault.Usage, "reading --quarantine", err)
	}
	return text, ids, nil
}
