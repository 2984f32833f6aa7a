package dataset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

	"batch.example/batch/dataset/harbor"
	"batch.example/batch/fault"
	"batch.example/batch/internal/regular"
)

// openFolder reads a task repo, Harbor's tasks, or the data files of one split in a folder.
func (s Source) openFolder(ctx context.Context) (*Dataset, error) {
	fsys := os.DirFS(s.Name)
	if isTaskRepo(fsys) {
		return s.openTaskRepo(ctx, fsys)
	}
	tasks, foreign, err := harbor.Find(s.Name)
	if err != nil {
		return nil, fault.New(fault.Usage, "listing "+s.Name, plainCause(err))
	}
	if len(tasks) > 0 {
		return s.openTasks(ctx, tasks)
	}
	text, _ := regular.ReadFile(filepath.Join(s.Name, card)) // without one there are no configurations
	c, err := configure(s.Name, "", text, "name the files of one of them, as a pattern in quotes")
	if err != nil {
		return nil, err
	}
	if c != nil {
		return s.openConfigured(ctx, fsys, c)
	}
	names, deeper, err := listFolder(fsys)
	if err != nil {
		return nil, fault.New(fault.Usage, "listing "+s.Name, plainCause(err))
	}
	hint := ""
	if len(deeper) > 0 {
		hint = "only a folder's own files and those in its data folder are read, not " + strings.Join(deeper, ", ")
	}
	d, err := s.openFiles(ctx, s.Name, names)
	switch {
	case err != nil && len(foreign) > 0:
		return nil, fault.New(fault.Usage, "", err).WithHint("%s is of another tool: a task has instruction.md or steps/ beside it", foreign[0])
	case hint == "":
	case err == nil:
		s.Log.Warn("reading "+s.Name+": "+hint, "read", len(d.Files))
	case fault.KindOf(err) == fault.Usage:
		return nil, fault.New(fault.Usage, "", err).WithHint("%s; name the folder that is meant", hint)
	}
	return d, err
}

// openConfigured reads one of the configurations of a folder.
func (s Source) openConfigured(ctx context.Context, fsys fs.FS, c *configuration) (*Dataset, error) {
	var names []string
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		return nil, fault.New(fault.Usage, "listing "+s.Name, plainCause(err))
	}
	names, split, err := c.choose(s.Name, s.Split, names, true)
	if err != nil {
		return nil, err
	}
	return readFiles(ctx, s.Name, names, split)
}

const (
	maxDeeper = 3     // files named as left out
	maxLooked = 10000 // entries searched for them
)

// listFolder returns the files in fsys itself and under data, as on the hub, and some data files
// elsewhere. Names that begin with a dot are ignored.
func listFolder(fsys fs.FS) (names, deeper []string, err error) {
	looked := 0
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		ours := !strings.Contains(name, "/") || strings.HasPrefix(name, "data/")
		looked++
		switch {
		case err != nil && (name == "." || name == "data" || strings.HasPrefix(name, "data/")):
			return err
		case name != "." && strings.HasPrefix(d.Name(), "."), err != nil, !ours && (looked > maxLooked || len(deeper) == maxDeeper):
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.IsDir():
		case ours: // links count: the hub's cache consists of them
			names = append(names, name)
		default:
			if _, ok := parseName(name); ok {
				deeper = append(deeper, name)
			}
		}
		return nil
	})
	return names, deeper, err
}

func (s Source) openGlob(ctx context.Context) (*Dataset, error) {
	names, err := filepath.Glob(s.Name)
	if err != nil {
		return nil, fault.New(fault.Usage, "expanding "+s.Name, err).WithHint("a literal * ? or [ is written with a backslash")
	}
	if len(names) == 0 {
		return nil, fault.Newf(fault.Usage, "opening %s: no file matches", s.Name).
			WithHint("quote the pattern so that the shell leaves it alone; %s", choices())
	}
	for i := range names {
		names[i] = filepath.ToSlash(names[i])
	}
	return s.openFiles(ctx, "", names)
}

// openFile reads the one named file, whatever its name.
func (s Source) openFile(ctx context.Context) (*Dataset, error) {
	dir, base := filepath.Split(s.Name)
	if base == harbor.RegistryFile {
		folders, err := harbor.Registry(s.Name, s.Split)
		if err != nil {
			return nil, err
		}
		return s.openTasks(ctx, folders)
	}
	if _, ok := parseName(base); !ok {
		return readFiles(ctx, dir, []string{base}, s.Split)
	}
	return s.openFiles(ctx, dir, []string{base})
}

// openFiles reads the files of one split among names, which are in dir.
func (s Source) openFiles(ctx context.Context, dir string, names []string) (*Dataset, error) {
	names, split, err := chooseSplit(s.Name, s.Split, names)
	if err != nil {
		return nil, err
	}
	return readFiles(ctx, dir, names, split)
}

func readFiles(ctx context.Context, dir string, names []string, split string) (*Dataset, error) {
	l := loader{}
	for _, name := range names {
		if err := l.read(ctx, filepath.Join(dir, filepath.FromSlash(name)), name); err != nil {
			return nil, err
		}
	}
	return l.dataset(split)
}

// loader collects the rows and digests of files, one after the other.
type loader struct {
	paths []string
	sums  []string // "<digest>  <name>"
	rows  []row
}

// read adds the rows of the file at path; name is its name within the dataset.
func (l *loader) read(ctx context.Context, path, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return fault.New(fault.Usage, "reading "+path, plainCause(err))
	}
	if !info.Mode().IsRegular() {
		return fault.Newf(fault.Usage, "reading %s: it is not a regular file", path).
			WithHint("a device or pipe has no end that is sure, and cannot be read again to resume: save the rows in a file")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return fault.New(fault.Usage, "reading "+path, plainCause(err))
	}
	rows, err := readRows(path, data)
	if err != nil {
		return err
	}
	l.add(path, name, data)
	l.rows = append(l.rows, rows...)
	return nil
}

func (l *loader) add(path, name string, data []byte) {
	sum := sha256.Sum256(data)
	l.paths = append(l.paths, path)
	l.sums = append(l.sums, fmt.Sprintf("%x  %s\n", sum, name))
}

func (l *loader) digest() string {
	if len(l.sums) == 1 {
		return l.sums[0][:2*sha256.Size]
	}
	sum := sha256.Sum256([]byte(strings.Join(l.sums, "")))
	return hex.EncodeToString(sum[:])
}

func (l *loader) dataset(split string) (*Dataset, error) {
	d := &Dataset{Split: split, Digest: l.digest(), Files: l.paths, Instances: make([]Instance, len(l.rows))}
	failed := make([]error, len(l.rows))
	together(len(l.rows), func(i int) { d.Instances[i], failed[i] = l.rows[i].instance() })
	seen := make(map[string]place, len(l.rows))
	for i, r := range l.rows {
		if failed[i] != nil {
			return nil, failed[i]
		}
		in := d.Instances[i]
		if first, ok := seen[in.ID]; ok {
			return nil, fault.Newf(fault.Usage, "reading %s: duplicate instance_id %s, which is also %s", r.place, in.ID, first).
				WithHint("drop one of the two; when the files are different datasets, name one of them")
		}
		seen[in.ID] = r.place
	}
	return d, nil
}

// together calls do for 0 to n-1, with as many calls at once as there are CPUs.
func together(n int, do func(i int)) {
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		all.Go(func() error {
			do(i)
			return nil
		})
	}
	_ = all.Wait() // no call of do fails
}
