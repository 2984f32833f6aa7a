package merging

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/printable"
	"batch.example/batch/internal/regular"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/run"
	"batch.example/batch/run/control"
	"batch.example/batch/vocab"
)

const journalFile = "journal.jsonl"

// input is a directory that is merged.
type input struct {
	dir      string
	manifest *manifest.Manifest
	parts    map[string]*part // by instance
	graded   bool             // there is a grades.jsonl
	force    control.InForce  // by commands of people
}

// part is an instance in one of the directories.
type part struct {
	folder bool
	entry  []byte         // of preds.json
	grades []grades.Grade // in the order of the file
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

// hold keeps runs out of the directories until release is called.
func hold(dirs []string) (release func() error, err error) {
	var all []func() error
	release = func() (err error) {
		for _, free := range all {
			err = errors.Join(err, free())
		}
		return err
	}
	for _, dir := range dirs {
		free, err := results.Hold(dir)
		if err != nil {
			return nil, errors.Join(err, release())
		}
		all = append(all, free)
	}
	return release, nil
}

// read reads a directory, which no run has. It refuses what cannot be merged by its kind.
func read(dir, output string) (*input, error) {
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
	if err := outside(output, dir); err != nil {
		return nil, err
	}
	in := &input{dir: dir, manifest: m, parts: map[string]*part{}}
	if err := in.readParts(); err != nil {
		return nil, err
	}
	in.force, err = readControl(dir)
	return in, err
}

// noRequest is the fault of a file without the request that a command made it from.
func noRequest(file, command, dir string) error {
	return fault.Newf(fault.Usage, "%s has no request", file).
		WithHint("another version of batch wrote it: give that `batch %s` again, with -o %s", command, printable.ShellWord(dir))
}

// outside refuses an output in a directory that is merged.
func outside(output, dir string) error {
	path, err1 := filepath.Abs(output)
	in, err2 := filepath.Abs(dir)
	if err := errors.Join(err1, err2); err != nil {
		return fault.New(fault.Host, "finding the working directory", err)
	}
	if rel, err := filepath.Rel(in, path); err == nil && filepath.IsLocal(rel) {
		return fault.Newf(fault.Usage, "%s is in %s, which would change by it", output, dir).WithHint("choose another directory with -o")
	}
	return nil
}

// part returns the part of an instance, to be filled in.
func (in *input) part(id string) *part {
	if in.parts[id] == nil {
		in.parts[id] = &part{}
	}
	return in.parts[id]
}

// readParts reads what the directory has of instances.
func (in *input) readParts() error {
	names, err := os.ReadDir(in.dir)
	if err != nil {
		return atomicfile.Fault("reading "+in.dir, err)
	}
	for _, e := range names {
		if vocab.CheckID(e.Name()) != nil || !regular.IsFolder(in.dir, e) {
			continue
		}
		in.part(e.Name()).folder = true
		path := filepath.Join(in.dir, e.Name(), journalFile)
		if _, err := journal.ReadTail(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fault.New(fault.KindOf(err), "reading "+path, err)
		}
	}
	entries, err := readEntries(in.dir)
	if err != nil {
		return err
	}
	for id, entry := range entries {
		in.part(id).entry = entry
	}
	_, err = os.Stat(grades.Path(in.dir))
	in.graded = err == nil
	list, err := grades.Read(in.dir)
	for _, g := range list {
		p := in.part(g.InstanceID)
		p.grades = append(p.grades, g)
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

// digest stands for the journal, the prediction and the grades of an instance. The other files follow from
// these.
func (in *input) digest(id string) (string, error) {
	p, sum := in.parts[id], sha256.New()
	if err := json.NewEncoder(sum).Encode([]any{p.folder, p.entry, p.grades}); err != nil {
		return "", err
	}
	f, err := regular.Open(filepath.Join(in.dir, id, journalFile))
	if err == nil {
		_, err = io.Copy(sum, f)
		err = errors.Join(err, f.Close())
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return string(sum.Sum(nil)), atomicfile.Fault("comparing journals", err)
}
