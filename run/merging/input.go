package merging

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"batch.example/batch/control"
	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/printable"
	"batch.example/batch/internal/regular"
	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/run"
	"batch.example/batch/swebench"
	"batch.example/batch/vocab"
)

const journalFile = "journal.jsonl"

// input is a directory that is merged.
type input struct {
	dir      string
	manifest *manifest.Manifest
	folders  map[string]bool   // of instances
	entries  map[string][]byte // of preds.json
	graded   bool              // there is a grades.jsonl
	grades   []grades.Grade
	force    control.InForce // by commands of people
}

// readAll reads the directories, and keeps runs out of them until release is called. A directory
// that is named twice is read once.
func readAll(c Config) (list []*input, release func() error, err error) {
	var held holds
	release = func() error { return held.release() }
	for _, dir := range c.Dirs {
		in, err := open(dir, c.Output)
		if err != nil {
			return nil, release, err
		}
		if err := held.take(dir); err != nil {
			return nil, release, err
		}
		if err := in.read(); err != nil {
			return nil, release, err
		}
		if c.Hide != nil {
			c.Hide(in.manifest)
		}
		list = append(list, in)
	}
	return list, release, nil
}

// holds keep runs out of directories that are only read.
type holds []func() error

func (h *holds) take(dir string) error {
	free, err := results.Hold(dir)
	if err == nil {
		*h = append(*h, free)
	}
	return err
}

func (h holds) release() error {
	var errs []error
	for _, free := range h {
		errs = append(errs, free())
	}
	return errors.Join(errs...)
}

// distinct returns each directory once.
func distinct(dirs []string) (list []string) {
	var seen []os.FileInfo
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err == nil {
			if slices.ContainsFunc(seen, func(other os.FileInfo) bool { return os.SameFile(info, other) }) {
				continue
			}
			seen = append(seen, info)
		}
		list = append(list, filepath.Clean(dir))
	}
	return list
}

// open refuses what cannot be merged by its kind.
func open(dir, output string) (*input, error) {
	if sweeps.Is(dir) {
		return nil, fault.Newf(fault.Usage, "%s is the folder of a sweep: each of its cells is a run directory of its own", dir).
			WithHint("merge sweeps with sweeps, and run directories with run directories")
	}
	m, err := run.ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	if m.Command != "run" {
		return nil, fault.Newf(fault.Usage, "%s was not made by `batch run`, so it cannot be merged", dir)
	}
	if m.Request == nil {
		return nil, noRequest(filepath.Join(dir, manifest.File), "run", dir)
	}
	return &input{dir: dir}, outside(output, dir)
}

// noRequest is the fault of a file without the request that a command made it from.
func noRequest(file, command, dir string) error {
	return fault.Newf(fault.Usage, "%s has no request", file).
		WithHint("another version of batch wrote it: give that `batch %s` again, with -o %s", command, printable.ShellWord(dir))
}

// outside refuses an output in a directory that is merged.
func outside(output, dir string) error {
	inside, err := isInside(output, dir)
	if err == nil && inside {
		err = fault.Newf(fault.Usage, "%s is in %s, which would change by it", output, dir).WithHint("choose another directory with -o")
	}
	return err
}

// isInside reports whether path is in the folder dir.
func isInside(path, dir string) (bool, error) {
	path, err1 := filepath.Abs(path)
	dir, err2 := filepath.Abs(dir)
	if err := errors.Join(err1, err2); err != nil {
		return false, fault.New(fault.Host, "finding the working directory", err)
	}
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel), nil
}

// read reads the directory, which no run has.
func (in *input) read() (err error) {
	if in.manifest, err = run.ReadManifest(in.dir); err != nil {
		return err
	}
	entries, err := os.ReadDir(in.dir)
	if err != nil {
		return atomicfile.Fault("reading "+in.dir, err)
	}
	in.folders = map[string]bool{}
	for _, e := range entries {
		if vocab.CheckID(e.Name()) != nil || !regular.IsFolder(in.dir, e) {
			continue
		}
		if !e.IsDir() {
			return notCopied(filepath.Join(in.dir, e.Name()))
		}
		in.folders[e.Name()] = true
		path := filepath.Join(in.dir, e.Name(), journalFile)
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return notCopied(path)
		}
		if _, err := journal.ReadTail(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fault.New(fault.KindOf(err), "reading "+path, err)
		}
	}
	if in.entries, err = readEntries(in.dir); err != nil {
		return err
	}
	if _, err := os.Stat(grades.Path(in.dir)); err == nil {
		in.graded = true
	}
	if in.grades, err = grades.Read(in.dir); err == nil {
		in.force, err = readControl(in.dir)
	}
	return err
}

// readEntries returns the entries of preds.json, as they are written; none if there is no file.
func readEntries(dir string) (map[string][]byte, error) {
	path := filepath.Join(dir, swebench.PredsName)
	text, err := regular.ReadFile(path)
	list := map[string][]byte{}
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(bytes.Trim(text, " \t\r\n\x00")) == 0 { // after a power cut; the journals have all
		return list, nil
	}
	if err != nil {
		return nil, atomicfile.Fault("reading "+path, err)
	}
	_, err = swebench.ScanPredictions(path, text, func(p swebench.Prediction) error {
		entry, err := p.PredsEntry()
		list[p.InstanceID] = entry
		return err
	})
	return list, err
}

// ids returns the instances with a folder, a prediction or a grade, sorted.
func (in *input) ids() []string {
	all := map[string]bool{}
	maps.Copy(all, in.folders)
	for id := range in.entries {
		all[id] = true
	}
	for _, g := range in.grades {
		all[g.InstanceID] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// gradesOf returns the grades of an instance, in the order of the file.
func (in *input) gradesOf(id string) (list []grades.Grade) {
	for _, g := range in.grades {
		if g.InstanceID == id {
			list = append(list, g)
		}
	}
	return list
}
