package submission

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/regular"
	"batch.example/batch/swebench"
	"batch.example/batch/vocab"
)

// Trace writes the trajectory of an instance's prediction, with its secrets hidden.
type Trace func(w io.Writer, in Instance) error

// WriteLeaderboard creates the folder dir for the leaderboard. It does not check the rules:
// [CheckLeaderboard] does. The folder is created completely or not at all. An existing dir is a
// Usage fault, unless it is an empty folder.
func WriteLeaderboard(r *Run, t Target, m Metadata, dir string, trace Trace) error {
	return atomicfile.Files{}.NewFolder(dir, func(tmp string) error {
		return folder(tmp).all(r, t, m, filepath.Base(dir), trace)
	})
}

// folder is the path of a folder under construction.
type folder string

func (f folder) all(r *Run, t Target, m Metadata, name string, trace Trace) error {
	meta, err := m.yaml(r, t, name)
	if err != nil {
		return err
	}
	err = errors.Join(f.file(swebench.MetadataName, meta), f.file("README.md", readme(r, t, m)))
	if m.Logo != "" {
		err = errors.Join(err, f.copied(m.logoName(), m.Logo))
	}
	if err != nil || t.Board.Name == "multimodal" {
		return err
	}
	lines, err := swebench.EncodePredictions(r.predictions(), false)
	if err != nil {
		return err
	}
	results, err := r.results().JSON()
	if err != nil {
		return err
	}
	if err := errors.Join(f.file(swebench.LinesName, lines), f.file(swebench.ResultsName, results)); err != nil {
		return err
	}
	for _, in := range r.Instances {
		if err := f.instance(in, trace); err != nil {
			return err
		}
	}
	return nil
}

// results returns the lists of results.json, like the repository's analysis/get_results.py.
func (r *Run) results() swebench.Results {
	sorted := func(keep func(Instance) bool) []string {
		ids := r.ids(keep)
		slices.Sort(ids)
		return ids
	}
	return swebench.Results{
		None: sorted(func(in Instance) bool { return !in.submitted() }),
		NoLogs: sorted(func(in Instance) bool {
			_, output := in.Log.Sizes[swebench.OutputName]
			return in.submitted() && !output
		}),
		Resolved: sorted(resolved),
	}
}

// instance copies an instance's log files, byte for byte, and writes its trajectory.
func (f folder) instance(in Instance, trace Trace) error {
	for _, name := range swebench.LogNames() {
		if _, ok := in.Log.Sizes[name]; !ok || in.Verdict == vocab.VerdictEmpty {
			continue
		}
		if err := f.copied(filepath.Join(swebench.LogsDir, in.ID, name), filepath.Join(in.Log.Folder, name)); err != nil {
			return err
		}
	}
	if !in.Trace {
		return nil
	}
	return f.create(filepath.Join(swebench.TrajsDir, in.ID+".traj.json"), func(w io.Writer) error { return trace(w, in) })
}

func (f folder) copied(name, from string) error {
	src, err := regular.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	return f.create(name, func(w io.Writer) error {
		_, err := io.Copy(w, src)
		return err
	})
}

func (f folder) file(name string, text []byte) error {
	return f.create(name, atomicfile.Bytes(text))
}

// create creates one file of the folder.
func (f folder) create(name string, write func(io.Writer) error) error {
	path := filepath.Join(string(f), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // to be published
		return err
	}
	file, err := regular.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) //nolint:gosec // to be published
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}
