package merging

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/grade/logparse"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/manifest"
	"batch.example/batch/run/grading"
	"batch.example/batch/run/rundir"
)

// builder builds the new directory.
type builder struct {
	Config
	inputs   []*input
	owner    map[string]*input // of instances
	manifest *manifest.Manifest
	rules    logparse.Rules // by which predictions were graded
	merged   Merged
}

// build writes everything into tmp. What it writes is durable on return.
func (b *builder) build(tmp string) error {
	err := b.copy(tmp)
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
	entries := map[string][]byte{}
	for _, id := range slices.Sorted(maps.Keys(b.owner)) {
		in := b.owner[id]
		if in.parts[id].folder {
			if err := copyTree(b.Files, filepath.Join(in.dir, id), func(path string) string { return filepath.Join(tmp, id, path) }); err != nil {
				return err
			}
		}
		if entry := in.parts[id].entry; entry != nil {
			entries[id] = entry
		}
	}
	for _, in := range b.inputs {
		place := func(path string) string { return filepath.Join(tmp, b.logIn(in, filepath.Join("logs", path))) }
		if err := copyTree(b.Files, filepath.Join(in.dir, "logs"), place); err != nil {
			return err
		}
	}
	if err := b.writeEntries(tmp, entries); err != nil {
		return err
	}
	for _, name := range []string{grades.QuarantineFile, "batch.log"} {
		if err := b.concat(tmp, name); err != nil {
			return err
		}
	}
	return b.copyGrades(tmp)
}

// logIn returns the path of a log in the new directory: grading names the tree of logs after the directory.
func (b *builder) logIn(in *input, path string) string {
	tree := func(dir string) string { return swebench.LogRoot + "/" + grading.Settings{}.RunIDOf(dir) + "/" }
	path = filepath.ToSlash(path) + "/"
	if rest, ok := strings.CutPrefix(path, tree(in.dir)); ok {
		path = tree(b.Output) + rest
	}
	return strings.TrimSuffix(path, "/")
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
	for _, id := range slices.Sorted(maps.Keys(b.owner)) {
		in := b.owner[id]
		for _, g := range in.parts[id].grades {
			g.Log = b.logIn(in, g.Log)
			if err := log.Add(g); err != nil {
				return errors.Join(err, log.Close())
			}
		}
	}
	b.rules = logparse.V5
	if all := log.All(); len(all) > 0 && !slices.ContainsFunc(all, func(g grades.Grade) bool { return g.Rules != logparse.V4.String() }) {
		b.rules = logparse.V4
	}
	return log.Close()
}

func (b *builder) graded() bool {
	return slices.ContainsFunc(b.inputs, func(in *input) bool { return in.graded })
}

// derive writes all that follows from what was copied.
func (b *builder) derive(tmp string) (err error) {
	s, err := results.Open(tmp, results.Options{Mask: b.Mask, Inject: b.Files.Inject})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	log, closeLog, err := rundir.OpenLog(tmp, b.Mask, rundir.View{})
	if err != nil {
		return err
	}
	defer closeLog()
	s.SetLog(log)
	log.Info("directories merged", "command", "batch "+strings.Join(b.Argv, " "), "directories", b.Dirs)
	asked := slices.Concat(b.manifest.Dataset.Instances, slices.Collect(maps.Keys(b.owner)))
	slices.Sort(asked)
	b.merged.Instances = slices.Compact(asked)
	for _, id := range b.merged.Instances {
		if _, ok := s.Finished(id); !ok {
			b.merged.Unfinished = append(b.merged.Unfinished, id)
		}
	}
	list, err := s.Predictions(nil)
	if err != nil {
		return err
	}
	b.merged.Predictions = len(list)
	if err := s.WriteManifest(b.manifest); err != nil {
		return err
	}
	if err := s.WritePredictions(context.Background()); err != nil || !b.graded() {
		return err
	}
	b.merged.Report, err = grading.Final(s, grading.Settings{}.RunIDOf(b.Output), b.rules, b.merged.Instances)
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
