package merging

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"batch.example/batch/grade/logparse"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/regular"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/manifest"
	"batch.example/batch/run/grading"
	"batch.example/batch/run/rundir"
	"batch.example/batch/swebench"
)

// builder builds the new directory.
type builder struct {
	Config
	inputs   []*input
	owner    map[string]*input // of instances
	manifest *manifest.Manifest

	// Known once it is built:
	asked       []string // sorted
	finished    map[string]bool
	predictions int
	report      string
}

// build writes everything into tmp. What it writes is durable on return.
func (b *builder) build(tmp string) error {
	unlock, err := results.Lock(tmp, results.DefaultOwner())
	if err != nil {
		return err
	}
	err = errors.Join(b.copy(tmp), unlock())
	if err == nil {
		err = b.derive(tmp)
	}
	if err == nil {
		err = b.sortPredictions(tmp)
	}
	if err == nil && b.cell == "" {
		err = writeControl(tmp, b.commands())
	}
	if err == nil {
		err = syncFolders(tmp)
	}
	return err
}

// copy copies everything except derived files.
func (b *builder) copy(tmp string) error {
	for _, id := range slices.Sorted(maps.Keys(b.owner)) {
		if in := b.owner[id]; in.folders[id] {
			if err := copyTree(b.Files, filepath.Join(in.dir, id), filepath.Join(tmp, id)); err != nil {
				return err
			}
		}
	}
	entries := map[string][]byte{}
	for _, in := range b.inputs {
		maps.Copy(entries, in.entries)
		if err := copyTree(b.Files, filepath.Join(in.dir, "logs"), filepath.Join(tmp, "logs"), b.renamed(in)); err != nil {
			return err
		}
	}
	if err := b.writeEntries(tmp, entries); err != nil {
		return err
	}
	for _, name := range []string{grades.QuarantineFile, "batch.log"} {
		if err := concat(b.Config, tmp, name); err != nil {
			return err
		}
	}
	return b.copyGrades(tmp)
}

// renamed renames the log tree of a run id: grading names the tree after the directory.
func (b *builder) renamed(in *input) rename {
	return rename{from: logTree(in.dir), to: logTree(b.Output)}
}

// logTree returns the path of a directory's log tree in the directory, if its run id is its name.
func logTree(dir string) string {
	return filepath.Join(filepath.FromSlash(swebench.LogRoot), grading.Settings{}.RunIDOf(dir))
}

// copyGrades joins the grades. Each instance's grades stay in their order.
func (b *builder) copyGrades(tmp string) error {
	if !b.graded() {
		return nil
	}
	log, err := grades.Open(tmp, grades.Options{Files: b.Files})
	if err != nil {
		return err
	}
	for _, in := range b.inputs {
		for _, g := range in.grades {
			if b.owner[g.InstanceID] != in {
				continue
			}
			if g.Log != "" {
				g.Log = filepath.ToSlash(b.renamed(in).path(filepath.FromSlash(g.Log)))
			}
			if err := log.Add(g); err != nil {
				return err
			}
		}
	}
	return log.Close()
}

func (b *builder) graded() bool {
	return slices.ContainsFunc(b.inputs, func(in *input) bool { return in.graded })
}

// concat joins the files of this name, in the order of the directories.
func concat(c Config, tmp, name string) error {
	var text []io.Reader
	for _, dir := range c.Dirs {
		f, err := regular.OpenFile(filepath.Join(dir, name), os.O_RDONLY|syscall.O_NOFOLLOW, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if errors.Is(err, syscall.ELOOP) {
			return notCopied(filepath.Join(dir, name))
		}
		if err != nil {
			return atomicfile.Fault("reading "+name, err)
		}
		defer f.Close()
		text = append(text, f, strings.NewReader("\n"))
	}
	if len(text) == 0 {
		return nil
	}
	err := c.Files.Write(filepath.Join(tmp, name), 0o644, func(w io.Writer) error {
		_, err := io.Copy(&lines{w: w}, io.MultiReader(text...))
		return err
	})
	return atomicfile.Fault("writing "+name, err)
}

// lines is a writer that leaves out empty lines.
type lines struct {
	w    io.Writer
	last byte // written; 0: none
}

// Write implements [io.Writer].
func (l *lines) Write(b []byte) (int, error) {
	out := make([]byte, 0, len(b))
	for _, c := range b {
		if c == '\n' && (l.last == '\n' || l.last == 0) {
			continue
		}
		out, l.last = append(out, c), c
	}
	_, err := l.w.Write(out)
	return len(b), err
}

// derive writes all that follows from what was copied.
func (b *builder) derive(tmp string) (err error) {
	s, err := results.Open(tmp, results.Options{Mask: b.Mask, Inject: b.Files.Inject})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	log, closeLog, err := rundir.OpenLog(tmp, b.Mask, nil)
	if err != nil {
		return err
	}
	defer closeLog()
	s.SetLog(log)
	log.Info("directories merged", "command", "batch "+strings.Join(b.Argv, " "), "directories", b.Dirs)
	list, err := s.Predictions(nil)
	if err != nil {
		return err
	}
	b.predictions, b.finished = len(list), map[string]bool{}
	b.asked = slices.Concat(b.manifest.Dataset.Instances, slices.Collect(maps.Keys(b.owner)))
	slices.Sort(b.asked)
	b.asked = slices.Compact(b.asked)
	for _, id := range b.asked {
		_, b.finished[id] = s.Finished(id)
	}
	if err := s.WriteManifest(b.manifest); err != nil {
		return err
	}
	if err := s.WritePredictions(context.Background()); err != nil {
		return err
	}
	if b.graded() {
		return b.writeFinal(tmp, s, list)
	}
	return nil
}

// writeFinal writes the harness's final report of the whole.
func (b *builder) writeFinal(tmp string, s *results.Store, list []results.Prediction) error {
	log, err := s.Grades()
	if err != nil {
		return err
	}
	all := log.All()
	rules := logparse.V5
	if len(all) > 0 && !slices.ContainsFunc(all, func(g grades.Grade) bool { return g.Rules != logparse.V4.String() }) {
		rules = logparse.V4
	}
	quarantined, err := grades.Quarantined(tmp)
	if err != nil {
		return err
	}
	runID := grading.Settings{}.RunIDOf(b.Output)
	b.report, err = grading.Final(tmp, runID, rules, b.asked, list, grades.Latest(all), quarantined)
	return err
}

// writeEntries writes preds.json, sorted by id.
func (b *builder) writeEntries(dir string, entries map[string][]byte) error {
	var out bytes.Buffer
	err := swebench.WritePreds(&out, func(yield func(string, func() ([]byte, error)) bool) {
		for _, id := range slices.Sorted(maps.Keys(entries)) {
			if !yield(id, func() ([]byte, error) { return entries[id], nil }) {
				return
			}
		}
	})
	if err == nil {
		err = b.Files.Write(filepath.Join(dir, swebench.PredsName), 0o644, atomicfile.Bytes(out.Bytes()))
	}
	return atomicfile.Fault("writing predictions", err)
}

// sortPredictions sorts preds.json, to which predictions may have been added from journals.
func (b *builder) sortPredictions(dir string) error {
	entries, err := readEntries(dir)
	if err != nil {
		return err
	}
	return b.writeEntries(dir, entries)
}
