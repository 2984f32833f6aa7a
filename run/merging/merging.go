// Package merging makes one run directory of several, such as the shards of a dataset, as if one
// run had made them all.
//
// The files of an instance are copied byte for byte. The grades, the manifests and what commands of
// people left in force are joined. Everything else follows from these, and the store derives it again.
// The directories that are merged are only read, and no run can begin in one meanwhile. The new
// directory is built beside its place and renamed, so it is there as a whole or not at all.
//
// Its API is not promised to other programs: see package batch.
package merging

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/gofrs/flock"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/mask"
	"batch.example/batch/internal/printable"
	"batch.example/batch/internal/regular"
	"batch.example/batch/results/manifest"
)

// Config says what is merged. Dirs and Output are required.
type Config struct {
	Dirs   []string
	Output string       // must not exist, or be an empty folder
	Argv   []string     // the command, for the manifest
	Mask   *mask.Masker // hides secrets in what is derived again; nil hides nothing

	Files atomicfile.Files // asked before every write, for tests

	cell string // folder in the sweep that is merged; empty: it is none

	// Hide, if not nil, is called with each directory's manifest before anything is written.
	Hide func(*manifest.Manifest)
}

// Merged describes a new directory.
type Merged struct {
	Dir         string   `json:"dir"`
	Dirs        int      `json:"directories"`          // that were merged
	Instances   []string `json:"instances"`            // ids of all known instances, sorted
	Unfinished  []string `json:"unfinished,omitempty"` // the ids without a result
	Predictions int      `json:"predictions"`
	Report      string   `json:"report,omitempty"` // path of the final report; empty: nothing was graded

	Shards  []dataset.Shard `json:"shards,omitempty"`  // that were merged, sorted; empty: the directories are not shards of one run
	Missing []dataset.Shard `json:"missing,omitempty"` // the other ones

	// Listed says that a list of ids selected the instances, so that the ids of a missing shard
	// are not known.
	Listed bool `json:"listed,omitempty"`
}

// moved notes that the directory is elsewhere.
func (m *Merged) moved(dir string) {
	m.Dir = dir
	if m.Report != "" {
		m.Report = filepath.Join(dir, filepath.Base(m.Report))
	}
}

// Merge makes the directory. A Usage fault names the settings in which directories differ, or the
// instances that two of them have. If a run works in a directory, the error is a
// [results.LockedError].
func Merge(c Config) (*Merged, error) {
	m, _, err := merge(c)
	return m, err
}

// merge also returns how it made the directory.
func merge(c Config) (m *Merged, b *builder, err error) {
	release, err := c.begin()
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	b = &builder{Config: c}
	for _, dir := range c.Dirs {
		in, err := read(dir, c.Output)
		if err != nil {
			return nil, nil, err
		}
		if c.Hide != nil {
			c.Hide(in.manifest)
		}
		b.inputs = append(b.inputs, in)
	}
	if err := agree(b.inputs); err != nil {
		return nil, nil, err
	}
	if b.owner, err = owners(b.inputs); err != nil {
		return nil, nil, err
	}
	if err := b.join(); err != nil {
		return nil, nil, err
	}
	if err := c.newFolder(b.build); err != nil {
		return nil, nil, err
	}
	b.merged.moved(c.Output)
	return &b.merged, b, nil
}

// begin checks the output, and keeps runs out of the directories until release is called.
func (c *Config) begin() (release func() error, err error) {
	c.Output, c.Dirs = filepath.Clean(c.Output), distinct(c.Dirs)
	if err := atomicfile.FreeFolder(c.Output); err != nil {
		return nil, err
	}
	return hold(c.Dirs)
}

// agree refuses directories with different settings.
func agree(list []*input) error {
	first := list[0]
	for _, in := range list[1:] {
		var differ []string
		for _, d := range in.manifest.Differences(first.manifest) {
			if d.Matters {
				differ = append(differ, d.Between(in.dir, first.dir))
			}
		}
		if len(differ) > 0 {
			return fault.Newf(fault.Usage, "%s and %s were made with different settings:\n  %s", first.dir, in.dir, strings.Join(differ, "\n  ")).
				WithHint("merge directories of one run; `batch compare` compares different ones")
		}
	}
	return nil
}

// owners returns the directory that each instance is copied from. It refuses an instance of two
// directories, unless all that they have of it is equal.
func owners(list []*input) (map[string]*input, error) {
	owner := map[string]*input{}
	twice := map[string][]string{} // the two directories -> ids
	for _, in := range list {
		for _, id := range slices.Sorted(maps.Keys(in.parts)) {
			other := owner[id]
			if other == nil {
				owner[id] = in
				continue
			}
			digest, err := in.digest(id)
			theirs, err2 := other.digest(id)
			if err := errors.Join(err, err2); err != nil {
				return nil, err
			}
			if digest != theirs {
				pair := other.dir + " and " + in.dir
				twice[pair] = append(twice[pair], id)
			}
		}
	}
	var lines []string
	for pair, ids := range twice {
		lines = append(lines, pair+": "+printable.Line(strings.Join(ids, ", ")))
	}
	if len(lines) == 0 {
		return owner, nil
	}
	slices.Sort(lines)
	return nil, fault.Newf(fault.Usage, "the same instances ran in two directories:\n  %s", strings.Join(lines, "\n  ")).
		WithHint("merge shards of one run; to compare two runs of the same instances: `batch compare`")
}

// markFile is in the folder of a merge that has not ended, with the folder's name, and locked while the
// merge runs. Other folders of a similar name are somebody's, such as a run that was put aside.
const markFile = ".batch-merge"

// newFolder makes the output with what fill writes, after removing what a killed merge left.
func (c Config) newFolder(fill func(tmp string) error) error {
	if err := sweepAbandoned(c.Output); err != nil {
		return err
	}
	var mark *flock.Flock
	err := c.Files.NewFolder(c.Output, func(tmp string) error {
		path := filepath.Join(tmp, markFile)
		mark = flock.New(path + ".new") // no other merge finds it before it is locked
		err := os.WriteFile(mark.Path(), []byte(filepath.Base(tmp)), 0o600)
		if err == nil {
			err = mark.Lock()
		}
		if err == nil {
			err = os.Rename(mark.Path(), path)
		}
		if err == nil {
			err = fill(tmp)
		}
		return err
	})
	if mark != nil {
		_ = os.Remove(filepath.Join(c.Output, markFile)) // where it stays, it does no harm: it has another folder's name
		_ = mark.Close()
	}
	return err
}

// sweepAbandoned removes what a killed merge left beside output.
func sweepAbandoned(output string) error {
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(output), "."+filepath.Base(output)+".*", markFile)) // a name with the characters of a pattern finds nothing
	for _, path := range left {
		dir := filepath.Dir(path)
		if name, err := regular.ReadFile(path); err != nil || string(name) != filepath.Base(dir) {
			continue
		}
		mark := flock.New(path, flock.SetFlag(os.O_RDONLY|syscall.O_NONBLOCK))
		free, err := mark.TryLock()
		if errors.Is(err, fs.ErrNotExist) { // its merge has ended meanwhile
			continue
		}
		if err == nil && free {
			err = os.RemoveAll(dir)
		}
		if err := errors.Join(err, mark.Close()); err != nil {
			return atomicfile.Fault("removing what a killed merge left", err)
		}
	}
	return nil
}
