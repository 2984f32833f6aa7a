package run

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"batch.example/batch/agent/config"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/abspath"
	"batch.example/batch/internal/mask"
	"batch.example/batch/internal/printable"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/journal"
	"batch.example/batch/llm/cassette"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/sweeps"
)

// Request describes a run as a plain value. [NewSetup] makes a run of it; [ReadRequest] reads
// the request that made a directory.
type Request = manifest.Request

// Configuration has the members of a [Request] that make the configuration.
type Configuration = manifest.Configuration

// NewRequest returns a request with the defaults of `batch run`.
func NewRequest() Request { return manifest.NewRequest() }

// ReadRequest returns the request of the last `batch run` into a directory, and its manifest. A
// [Setup] of the request continues that run: it selects what all runs into the directory
// selected. A Usage fault says why a directory cannot be continued.
func ReadRequest(dir string, p Process) (Request, *manifest.Manifest, error) {
	m, err := ReadManifest(dir)
	if err != nil {
		return Request{}, nil, err
	}
	if m.OnlyGraded() {
		return Request{}, nil, fault.Newf(fault.Usage, "%s has predictions that no run of batch made, and their grades", dir).
			WithHint("to continue the grading: `batch grade %s`", printable.ShellWord(dir))
	}
	if talk := m.Talk(); talk != "" {
		return Request{}, nil, fault.Newf(fault.Usage, "%s is the directory of a conversation, which `batch %s` continues", dir, talk).
			WithHint("give it again, with -o %s", printable.ShellWord(dir))
	}
	if m.Command == "" {
		return Request{}, nil, fault.Newf(fault.Usage, "%s: its manifest does not name the command that made it", dir).
			WithHint("give that `batch run` again, with -o %s", printable.ShellWord(dir))
	}
	r, err := stored(dir, m)
	if err == nil {
		r, err = p.Absolute(r)
	}
	if err != nil {
		return Request{}, nil, err
	}
	r.Output, r.Also = dir, m.Dataset.Instances
	if r.InstancesFile != "" || r.Shard != "" { // the file may have changed, or was standard input; earlier versions had other shards
		r.Only = m.Dataset.Instances
	}
	return r, m, nil
}

// stored returns the request in the manifest of dir.
func stored(dir string, m *manifest.Manifest) (Request, error) {
	again := fmt.Sprintf("give that `batch run` again, with -o %s", printable.ShellWord(dir))
	return usable(m.Request, "reading the command in "+dir+"'s manifest", dir, again)
}

// usable returns r if it can be run again. In the error, reading says what was being read, and the hint
// is again, what a person can do.
func usable(r *Request, reading, dir, again string) (Request, error) {
	if r == nil {
		return Request{}, fault.Newf(fault.Usage, "%s: there is no request", reading).WithHint("another version of batch wrote it: %s", again)
	}
	if value := r.Secret(); value != "" {
		return Request{}, fault.Newf(fault.Usage, "%s: the command that made it contained a secret (%s), which is not stored", dir, value).
			WithHint("%s", again)
	}
	return *r, nil
}

// CellRequest returns the request of a cell of the sweep in dir.
func CellRequest(dir string, c sweeps.Cell, p Process) (Request, error) {
	output := filepath.Join(dir, c.Folder)
	reading := fmt.Sprintf("reading the command of %s in %s", c.Folder, filepath.Join(dir, sweeps.File))
	r, err := usable(c.Request, reading, output, fmt.Sprintf("give that `batch sweep` again, with -o %s", printable.ShellWord(dir)))
	if err == nil {
		r, err = p.Absolute(r)
	}
	if err != nil {
		return r, err
	}
	r.Output = output
	if r.Replay != "" {
		r.Replay = filepath.Join(r.Replay, c.Folder)
	}
	return r, nil
}

// ReadManifest reads the manifest of a directory that a person named. If it is another kind
// of directory, the error names that.
func ReadManifest(dir string) (*manifest.Manifest, error) {
	m, err := manifest.Read(dir)
	if errors.Is(err, syscall.ENOTDIR) {
		return nil, results.NotARun(dir, "it is a file")
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return m, err
	}
	if _, foreign := os.Stat(filepath.Join(dir, swebench.PredsName)); foreign == nil {
		return nil, fault.Newf(fault.Usage, "%s is not a run directory: it has no manifest.json", dir).
			WithHint("to add to another tool's predictions: `batch run -o %s ...`", printable.ShellWord(dir))
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, results.NotARun(dir, "it does not exist")
	}
	return nil, results.NotARun(dir, "it has no manifest.json")
}

// Absolute returns r with absolute paths. Relative paths start in Dir; an empty Dir becomes the
// working directory. Configurations in MSWEA_CONFIG_DIR stay relative, because each process has
// its own variables. A missing configuration is a Usage fault.
func (p Process) Absolute(r Request) (Request, error) {
	if r.Dir == "" {
		r.Dir, _ = os.Getwd() // on an error, relative paths stay
	}
	if r.Dir == "" {
		return r, nil
	}
	r.Subset = dataset.Locate(r.Subset, r.Dir)
	if r.InstancesFile != "-" && r.InstancesFile != "" {
		r.InstancesFile = abspath.Join(r.Dir, r.InstancesFile)
	}
	for _, path := range []*string{&r.Replay, &r.Assets} {
		if *path != "" {
			*path = abspath.Join(r.Dir, *path)
		}
	}
	r.Configs = slices.Clone(r.Configs)
	for i, spec := range r.Configs {
		name, err := config.File(spec, config.Options{Dir: from(r.Dir)})
		if err == nil && name != "" {
			r.Configs[i] = abspath.Join(r.Dir, name)
		} else if _, err := config.File(spec, p.lookup(r)); err != nil {
			return r, err
		}
	}
	return r, nil
}

// Found returns the configurations of r for a request with another Dir: all files, in
// MSWEA_CONFIG_DIR too, are absolute paths.
func (p Process) Found(r Request) ([]string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, fault.New(fault.Host, "finding the working directory", err)
	}
	list := slices.Clone(r.Configs)
	for i, spec := range list {
		name, err := config.File(spec, p.lookup(r))
		if err != nil {
			return nil, err
		}
		if name != "" {
			list[i] = abspath.Join(dir, name)
		}
	}
	return list, nil
}

// lookup returns the options that locate the configurations of r.
func (p Process) lookup(r Request) config.Options {
	opts := config.Options{Dir: from(r.Dir)}
	if dir := p.Getenv("MSWEA_CONFIG_DIR"); dir != "" {
		if opts.Dir != "" {
			dir = abspath.Join(opts.Dir, dir)
		}
		opts.Dirs = []string{dir}
	}
	return opts
}

// Tested returns the request of the run that made dir, as far as the tests of its predictions
// need it. A configuration that is missing at its path is taken from the working directory
// under the same name, in case the run directory was moved or copied to another machine. If
// with is not nil, its configurations replace the run's.
func (p Process) Tested(dir string, m *manifest.Manifest, with []string) (Request, error) {
	r, err := stored(dir, m)
	if err != nil {
		return r, err
	}
	r.Subset, r.InstancesFile, r.Replay, r.Assets = "", "", "", ""
	if with != nil {
		if r.Configs, err = p.Found(Request{Configuration: Configuration{Configs: with}}); err != nil {
			return r, err
		}
	}
	r.Configs = slices.Clone(r.Configs)
	for i, spec := range r.Configs {
		if _, err := config.File(spec, p.lookup(r)); err == nil {
			continue
		}
		if found, err := config.File(shownFrom(r.Dir, spec), config.Options{}); err == nil && found != "" {
			if r.Configs[i], err = filepath.Abs(found); err != nil {
				return r, fault.New(fault.Host, "finding the working directory", err)
			}
		}
	}
	return p.Absolute(r)
}

// DatasetOf returns the name of a manifest's dataset as seen from the working directory. The path
// of a file may have changed, as in [Process.Tested].
func DatasetOf(m *manifest.Manifest) string {
	name := m.Dataset.Name
	if slices.Contains(dataset.ShortNames(), name) {
		return name
	}
	here, _ := os.Getwd() // on an error, a relative path stays
	for _, dir := range []string{m.Dir, here} {
		path := dataset.Locate(name, dir)
		matches, _ := filepath.Glob(path)
		if _, err := os.Stat(path); filepath.IsAbs(path) && (err == nil || len(matches) > 0) {
			return path
		}
	}
	return name
}

// here returns the name of a file for messages, and to open it: relative if the file is in
// the working directory, as people write it.
func here(path string) string {
	dir, err := os.Getwd()
	if err != nil {
		return path
	}
	return shownFrom(dir, path)
}

// shownFrom returns an absolute path in dir relative to dir, and any other path unchanged.
func shownFrom(dir, path string) string {
	if !filepath.IsAbs(path) || abspath.GoesUp(path) {
		return path
	}
	rel, err := filepath.Rel(dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return path
	}
	return rel
}

// from returns the folder in which relative paths start; empty if it is the working directory.
func from(dir string) string {
	if here(dir) == "." {
		return ""
	}
	return dir
}

// subset returns the name of the dataset for messages, and to open it.
func subset(r Request) string {
	name := here(r.Subset)
	if dir, err := os.Getwd(); err != nil || dataset.Locate(name, dir) != r.Subset { // a folder may have the name of an alias
		return r.Subset
	}
	return name
}

// configs returns the arguments of -c for messages, and to read them.
func configs(r Request) []string {
	list := make([]string, len(r.Configs))
	for i, spec := range r.Configs {
		list[i] = spec
		if filepath.IsAbs(spec) && from(r.Dir) == "" { // where Load looks for relative names

			if name, err := config.File(here(spec), config.Options{}); err == nil && name != "" {
				list[i] = here(spec)
			}
		}
	}
	return list
}

// Masked returns r for a file: without secrets that their names or an address reveal. Paths are
// unchanged.
func Masked(r Request) Request {
	r.Configs = slices.Clone(r.Configs)
	for i, spec := range r.Configs {
		if config.IsKeyValue(spec) {
			r.Configs[i] = config.MaskSpec(spec)
		}
	}
	paths := r
	maskTexts(reflect.ValueOf(&r).Elem())
	r.Dir, r.Output, r.Subset, r.InstancesFile, r.Replay, r.Assets, r.Configs = paths.Dir, paths.Output, paths.Subset, paths.InstancesFile, paths.Replay, paths.Assets, paths.Configs
	return r
}

// maskTexts masks all texts in v, in copies of its lists.
func maskTexts(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(config.MaskSpec(mask.URL(v.String())))
	case reflect.Struct:
		for i := range v.NumField() {
			maskTexts(v.Field(i))
		}
	case reflect.Slice:
		if v.IsNil() {
			return
		}
		list := reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v)
		for i := range list.Len() {
			maskTexts(list.Index(i))
		}
		v.Set(list)
	}
}

// CheckRequest refuses invalid values, and names their flags.
func CheckRequest(r Request) error {
	_, badDurability := journal.ParseDurability(r.Durability)
	switch {
	case r.Workers < 0:
		return fault.Newf(fault.Usage, "--workers %d: expected at least 1", r.Workers)
	case r.GradeWorkers < 0:
		return fault.Newf(fault.Usage, "--grade-workers %d: expected at least 1", r.GradeWorkers)
	case !(r.EngineWait > 0): // also refuses NaN
		return fault.Newf(fault.Usage, "--engine-wait %vs: expected a time above 0, such as 5m", r.EngineWait)
	case !(r.TimeoutMultiplier >= 0) || r.TimeoutMultiplier > 1000:
		return fault.Newf(fault.Usage, "--timeout-multiplier %v: expected a number above 0, such as 2", r.TimeoutMultiplier)
	case !(r.CostLimit >= 0):
		return fault.Newf(fault.Usage, "--cost-limit-total %v: expected an amount in US dollars, such as 2.50", r.CostLimit)
	case r.Assets != "" && !isFolder(r.Assets):
		return fault.Newf(fault.Usage, "--assets %s: expected the folder tasks of a task repository", here(r.Assets))
	case strings.ContainsFunc(r.ImagePrefix, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }):
		return fault.Newf(fault.Usage, "--image-prefix %q: expected the host of a registry, such as mirror.local or mirror.local/hub", r.ImagePrefix)
	}
	return cmp.Or(CheckImages(r), checkRecording(r), badDurability)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// CheckImages refuses invalid values about images.
func CheckImages(r Request) error {
	switch {
	case r.Prefetch < 0:
		return fault.Newf(fault.Usage, "--prefetch %d: expected a number of images, 0 or more", r.Prefetch)
	case r.Order != manifest.OrderGrouped && r.Order != manifest.OrderGiven:
		return fault.Newf(fault.Usage, "--order %s: expected %s or %s", r.Order, manifest.OrderGrouped, manifest.OrderGiven)
	case r.Pulls < 1:
		return fault.Newf(fault.Usage, "--pulls %d: expected at least 1", r.Pulls)
	case r.DiskBudget < 0 || r.DiskReserve < 0:
		return fault.Newf(fault.Usage, "--disk-budget %d, --disk-reserve %d: expected bytes, 0 or more", r.DiskBudget, r.DiskReserve)
	}
	return nil
}

// checkRecording refuses a missing recording, and flags that contradict each other.
func checkRecording(r Request) error {
	switch {
	case r.Record && r.Replay != "":
		return fault.Newf(fault.Usage, "--record and --replay cannot be used together")
	case r.ReplayChanged && r.Replay == "":
		return fault.Newf(fault.Usage, "--replay-changed needs --replay DIR")
	}
	if r.Replay == "" {
		return nil
	}
	in := os.DirFS(r.Replay) // the name of the directory may look like a pattern
	if old, _ := fs.Glob(in, "*/"+cassette.OldFileName); len(old) > 0 {
		return fault.Newf(fault.Usage, "--replay %s: %s is of a form that is no longer read", here(r.Replay), old[0]).
			WithHint("record again, with `batch run --record`")
	}
	if found, _ := fs.Glob(in, "*/"+cassette.FileName); len(found) == 0 {
		return fault.Newf(fault.Usage, "--replay %s: there is no recording in it", here(r.Replay)).
			WithHint("a recording is made by `batch run --record`")
	}
	return nil
}
