package dataset

import (
	"context"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/dataset/hub"
	"batch.example/batch/fault"
	"batch.example/batch/internal/abspath"
	"batch.example/batch/internal/lazy"
	"batch.example/batch/internal/near"
)

// Source says where a dataset comes from. Only Name is needed.
type Source struct {
	// Name is an alias ([Aliases]), a file, a folder, a glob, or the id of a
	// dataset on the Hugging Face hub, tried in this order. A path that reads
	// like an alias is written with "./". An id may name one of the dataset's
	// configurations: owner/name/CONFIG.
	Name string
	// Split is the part to read. "" reads the only split or, if there are several, "test".
	Split string
	// Revision is a branch, tag or commit on the hub; "" is main.
	Revision string
	// ID says that Name is not a path: a Name with the form of a hub id is one, whatever local
	// files exist.
	ID bool
	// Demo is the task repo behind the name "demo".
	Demo fs.FS
	// Hub says how to reach the hub.
	Hub hub.Config
	// Log receives reports of slow steps and omissions; nil discards them.
	Log *slog.Logger
}

// Dataset is a dataset read into memory. It must not be changed.
type Dataset struct {
	Name     string // as given
	Split    string // as read; "" if none was given and the files name none
	Revision string // the commit on the hub; "" for local files
	// Digest is a SHA-256 in hexadecimal over the content of the files. One file has its own
	// SHA-256, as sha256sum prints it. Several files have the SHA-256 of the lines "<digest>
	// <name>" that sha256sum would print.
	Digest    string
	Files     []string // the paths that were read; for a task repo or Harbor's tasks, the task folders
	Notes     []string // for a person: what was ignored
	Instances []Instance
}

// Aliases returns the short names and their meanings: a dataset's id on the hub, or "" for the
// embedded demo. The ids are the same as in mini-swe-agent.
func Aliases() map[string]string {
	return map[string]string{
		"full":         "princeton-nlp/SWE-Bench",
		"verified":     "princeton-nlp/SWE-Bench_Verified",
		"lite":         "princeton-nlp/SWE-Bench_Lite",
		"multimodal":   "princeton-nlp/SWE-Bench_Multimodal",
		"multilingual": "swe-bench/SWE-Bench_Multilingual",
		"smith":        "SWE-bench/SWE-smith",
		"rebench":      "nebius/SWE-rebench",
		"_test":        "klieret/swe-bench-dummy-test-dataset",
		demoName:       "",
	}
}

const demoName = "demo"

// ShortNames returns the aliases that help shows, sorted. mini-swe-agent's _test is left out, since
// it is for its own tests.
func ShortNames() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(Aliases())), func(name string) bool { return strings.HasPrefix(name, "_") })
}

// Open reads the whole dataset that s names. Its rows have unique ids that can be file names. A
// mistake in the input is a Usage fault that names the file and row; a failure of the network is a
// Host fault.
func Open(ctx context.Context, s Source) (*Dataset, error) {
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	d, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	d.Name = s.Name
	if len(d.Instances) == 0 {
		return nil, fault.Newf(fault.Usage, "opening %s: it has no rows", s.Name)
	}
	s.Log.Debug("dataset read", "name", d.Name, "split", d.Split, "rows", len(d.Instances), "digest", d.Digest)
	return d, nil
}

func (s Source) open(ctx context.Context) (*Dataset, error) {
	if s.Name == "" {
		return nil, fault.Newf(fault.Usage, "opening a dataset: no name given").WithHint("%s", choices())
	}
	if s.Name == demoName {
		if s.Demo == nil {
			return nil, fault.Newf(fault.Usage, "opening demo: this program embeds no demo")
		}
		return s.openTaskRepo(ctx, s.Demo)
	}
	if id, ok := Aliases()[s.Name]; ok {
		return s.openHub(ctx, id, "")
	}
	id, config, isID := cutID(s.Name)
	if s.ID && isID {
		return s.openHub(ctx, id, config)
	}
	info, err := os.Stat(s.Name)
	switch {
	case err == nil && info.IsDir():
		return s.openFolder(ctx)
	case err == nil:
		return s.openFile(ctx)
	case strings.ContainsAny(s.Name, "*?["):
		return s.openGlob(ctx)
	case isID && !inFolder("", id, config):
		return s.openHub(ctx, id, config)
	default:
		return nil, s.missing(err)
	}
}

// Locate returns the absolute path of a name that [Source] takes for a path relative to dir. An
// alias, a hub id and an absolute path stay as they are.
func Locate(name, dir string) string {
	if _, alias := Aliases()[name]; alias || name == "" || filepath.IsAbs(name) {
		return name
	}
	path := abspath.Join(dir, name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if strings.ContainsAny(name, "*?[") {
		return filepath.Join(literal.Replace(dir), name)
	}
	if id, config, isID := cutID(name); isID && !inFolder(dir, id, config) {
		return name
	}
	return path
}

// literal quotes a path, so that as a pattern it matches only itself.
var literal = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// hubID is owner/name or owner/name/CONFIG, whose characters are the ones that load_dataset allows.
var hubID = lazy.Regexp(`^([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?:/([^<>:/\\|?*]+))?$`)

// cutID cuts a name that does not exist as a file into the id of a dataset on the hub and the name
// of a configuration, if there is one. It reports whether the name has this form.
func cutID(name string) (id, config string, ok bool) {
	m := hubID().FindStringSubmatch(name)
	if _, isFile := parseName(name); m == nil || isFile {
		return "", "", false
	}
	return m[1], m[2], true
}

// inFolder reports whether the name of a configuration is rather that of an absent file, since what
// would be the id of its dataset is a folder in dir.
func inFolder(dir, id, config string) bool {
	_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(id)))
	return config != "" && err == nil
}

func (s Source) missing(err error) error {
	var names []string
	entries, _ := os.ReadDir(filepath.Dir(s.Name)) // without entries, the hint is only shorter
	for _, e := range entries {
		names = append(names, filepath.Join(filepath.Dir(s.Name), e.Name()))
	}
	names = append(names, ShortNames()...)
	return fault.New(fault.Usage, "opening dataset "+s.Name, plainCause(err)).
		WithHint("%s", near.Hint(near.Name(s.Name, names), choices()))
}

// plainCause drops the call and path that the message already contains.
func plainCause(err error) error {
	if p, ok := err.(*fs.PathError); ok {
		return p.Err
	}
	return err
}

func choices() string {
	return "give a file, a folder, a glob, a Hugging Face id such as owner/name, or one of: " +
		strings.Join(ShortNames(), " ")
}

// openHub reads a dataset of the hub through the local cache.
func (s Source) openHub(ctx context.Context, id, config string) (*Dataset, error) {
	if s.Hub.Log == nil {
		s.Hub.Log = s.Log
	}
	client := hub.New(s.Hub)
	snap, err := client.Resolve(ctx, id, s.Revision)
	if err != nil {
		return nil, s.withAlias(err, id)
	}
	names, split, err := s.chooseOnHub(ctx, client, snap, config)
	if err != nil {
		return nil, err
	}
	l := loader{}
	for _, name := range names {
		path, err := client.Fetch(ctx, snap, name)
		if err != nil {
			return nil, err
		}
		if err := l.read(ctx, path, name); err != nil {
			return nil, err
		}
	}
	d, err := l.dataset(split)
	if err != nil {
		return nil, err
	}
	d.Revision = snap.Commit
	return d, nil
}

// chooseOnHub returns the files of the requested configuration and split, and the split's name.
func (s Source) chooseOnHub(ctx context.Context, client *hub.Client, snap hub.Snapshot, config string) ([]string, string, error) {
	var text []byte
	if slices.Contains(snap.Files, card) {
		path, err := client.Fetch(ctx, snap, card)
		if err == nil {
			text, err = os.ReadFile(path)
		}
		if err != nil {
			return nil, "", err
		}
	} else if config != "" && snap.Cached {
		return nil, "", fault.Newf(fault.Usage, "opening %s offline: its %s, which names its configurations, is not in the cache", snap.Repo, card).
			WithHint("download it once with the network, or unset HF_HUB_OFFLINE")
	}
	c, err := configure(snap.Repo, config, text, "choose one of them with --subset "+snap.Repo+"/CONFIGURATION")
	if err != nil {
		return nil, "", err
	}
	if s.Split == "" && snap.Cached && (c == nil || c.Splits == nil) {
		// The cache may have only some of the splits, so its only split is not always the default
		// with the network.
		s.Split = "test"
	}
	if c == nil {
		return chooseSplit(snap.Repo, s.Split, snap.Files)
	}
	return c.choose(snap.Repo, s.Split, snap.Files, !snap.Cached)
}

// withAlias adds similar names to the hint about a dataset that does not exist.
func (s Source) withAlias(err error, id string) error {
	known := slices.Collect(maps.Values(Aliases()))
	if fault.KindOf(err) != fault.Usage || slices.Contains(known, id) {
		return err
	}
	best := near.Name(id, known)
	if best == "" {
		return err
	}
	return fault.New(fault.Usage, "", err).WithHint("%s", near.Hint(best, fault.HintOf(err)))
}
