package swebench

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/fault"
)

// Folder is an instance's folder in a tree of logs.
type Folder struct {
	// Run is the name of the run's folder: a run id, or empty if the tree has no level for runs.
	// Model is the name of the model's folder: the model's name with "__" for "/".
	Run, Model, InstanceID string
	Path                   string
}

// Found is the content of a tree of logs.
type Found struct {
	Folders []Folder // by run, model and instance
	// Unknown are the names of folders that have a test_output.txt but no instance id as name,
	// sorted.
	Unknown []string
}

// Find looks for the folders of instances anywhere below root: <run>/<model>/<id>, <model>/<id> or
// <id>. A folder belongs to an instance if known reports that its name is an id and it has more
// than a report: reports that were written into the tree do not count. Symbolic links to folders
// are followed. An error is a usage fault: root cannot be read, or has two folders for the same
// instance of one model's run.
func Find(root string, known func(id string) bool) (Found, error) {
	real, err := filepath.EvalSymlinks(root)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return Found{}, readingTree(err)
	}
	w := walker{root: real, known: known, followed: map[string]bool{}}
	if err := filepath.WalkDir(real, w.visit); err != nil {
		return Found{}, readingTree(err)
	}
	found := w.found
	if d, err := os.Stat(real); err == nil && !d.IsDir() {
		return Found{}, fault.Newf(fault.Usage, "reading the tree of logs: %s is not a folder", root)
	}
	slices.Sort(found.Unknown)
	return found, found.order()
}

// readingTree is the Usage fault for a tree that cannot be read.
func readingTree(err error) error { return fault.New(fault.Usage, "reading the tree of logs", err) }

// walker collects what Find finds.
type walker struct {
	root     string
	known    func(id string) bool
	followed map[string]bool // targets of symbolic links
	found    Found
}

func (w *walker) visit(path string, d fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	isDir := d.IsDir()
	if d.Type()&fs.ModeSymlink != 0 {
		info, err := os.Stat(path)
		isDir = err == nil && info.IsDir()
	}
	switch {
	case isDir && w.known(d.Name()):
		if hasLogs(path) {
			w.found.Folders = append(w.found.Folders, folder(w.root, path))
		}
		if d.IsDir() {
			return fs.SkipDir
		}
	case isDir && !d.IsDir():
		return w.follow(path)
	case d.Name() == OutputName && !isDir:
		w.found.Unknown = append(w.found.Unknown, filepath.Base(filepath.Dir(path)))
	}
	return nil
}

// follow visits the target of a symbolic link to a folder, unless the walk visits the target anyway
// or the target contains the link.
func (w *walker) follow(link string) error {
	target, err := filepath.EvalSymlinks(link)
	if err != nil {
		return err
	}
	if w.followed[target] || within(w.root, target) || within(target, w.root) {
		return nil
	}
	w.followed[target] = true
	return filepath.WalkDir(link+string(filepath.Separator), w.visit)
}

// within reports whether path is dir or below it.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

func hasLogs(dir string) bool {
	for _, name := range []string{OutputName, RunLogName, PatchName} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// folder takes the names of model and run from the folders above path, up to the root of the tree.
func folder(root, path string) Folder {
	f := Folder{InstanceID: filepath.Base(path), Path: path}
	if path == root { // the tree is one instance's folder
		f.Model = "None"
		return f
	}
	above := filepath.Dir(path)
	if filepath.Base(above) == "logs" { // submissions to the leaderboard have <model>/logs/<id>
		above = filepath.Dir(above)
	}
	f.Model = filepath.Base(above)
	if within(root, filepath.Dir(above)) {
		f.Run = runName(root, filepath.Dir(above))
	}
	return f
}

// runName returns the run that the folder at path is named after, or "" if it is not a run's
// folder. The root of the tree is a run's folder only if it is in a folder run_evaluation.
func runName(root, path string) string {
	name := filepath.Base(path)
	switch {
	case name == "run_evaluation", name == "logs":
		return ""
	case path == root && filepath.Base(filepath.Dir(path)) != "run_evaluation":
		return ""
	}
	return name
}

// order sorts the folders and refuses two folders for the same instance of a run.
func (f Found) order() error {
	slices.SortFunc(f.Folders, func(a, b Folder) int {
		return strings.Compare(a.key(), b.key())
	})
	for i := 1; i < len(f.Folders); i++ {
		if a, b := f.Folders[i-1], f.Folders[i]; a.key() == b.key() {
			return fault.Newf(fault.Usage, "two folders for one instance of a run: %s and %s", a.Path, b.Path).
				WithHint("give the tree of one of the runs")
		}
	}
	return nil
}

func (f Folder) key() string { return f.Run + "\x00" + f.Model + "\x00" + f.InstanceID }
