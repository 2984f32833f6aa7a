package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/python"
	"batch.example/batch/vocab"
)

// ManifestVersion is the version of manifest.json that this package writes.
const ManifestVersion = 1

// Manifest is manifest.json: what was asked for and what ran. It holds no
// secrets; whoever fills in Config and Argv keeps them out.
type Manifest struct {
	Format   int              `json:"format_version"`
	Batch    string           `json:"batch_version"` // with the revision it was built from
	Go       string           `json:"go_version,omitempty"`
	Git      *Git             `json:"git,omitempty"` // of Dir; nil where it is no work tree, or not known
	Created  time.Time        `json:"created"`
	Argv     []string         `json:"argv"`          // of the last `batch run`, without the program's name
	Dir      string           `json:"dir,omitempty"` // the folder that it was started in
	Model    string           `json:"model"`
	ModelIDs []string         `json:"model_ids,omitempty"` // as the provider returned them, sorted
	Price    *vocab.Price     `json:"price,omitempty"`     // nil when the provider tells what calls cost, or they are free
	Seed     int64            `json:"seed"`
	Salvage  bool             `json:"salvage,omitempty"` // the work tree's diff stands in for a missing submission
	Config   any              `json:"config"`            // resolved: every default filled in
	Prompts  string           `json:"prompts,omitempty"` // whose they are
	Dataset  Dataset          `json:"dataset"`
	Host     Host             `json:"host"`
	Images   map[string]Image `json:"images,omitempty"` // by instance id
	Runs     []Run            `json:"runs"`             // in order; a run that crashed has no end
}

// Git is the state of a git work tree.
type Git struct {
	Commit string `json:"commit"` // "(initial)" before the first one
	Branch string `json:"branch"` // "(detached)" when there is none
	Dirty  bool   `json:"dirty"`  // tracked files were changed
}

// Dataset says what was selected from what.
type Dataset struct {
	Name      string `json:"name"`
	Split     string `json:"split,omitempty"`
	Revision  string `json:"revision,omitempty"`
	Digest    string `json:"digest,omitempty"` // of the files read, before selection
	Selection string `json:"selection,omitempty"`
	Count     int    `json:"count"` // instances selected

	Instances []string `json:"instances,omitempty"` // their ids, in order
}

// Host is the machine that the run was started on.
type Host struct {
	Name string `json:"hostname"`
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPUs int    `json:"cpus"`
}

// Image is the image that an instance ran in.
type Image struct {
	Ref    string `json:"ref"`
	ID     string `json:"id,omitempty"`
	Digest string `json:"digest,omitempty"`
}

// Run is one invocation that worked in the directory.
type Run struct {
	Started time.Time  `json:"started"`
	Ended   *time.Time `json:"ended,omitempty"`
	Argv    []string   `json:"argv,omitempty"`
}

// Manifest returns the manifest that stands in the directory, and whether
// there is one that can be read. A broken or newer one is moved aside by
// [Store.WriteManifest] rather than overwritten.
func (s *Store) Manifest() (*Manifest, bool) {
	m, err := ReadManifest(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Load().Warn("the manifest cannot be read", "err", err)
	}
	return m, err == nil
}

// ReadManifest reads the manifest of a run directory. A missing one is
// fs.ErrNotExist; a broken or newer one is a Usage fault.
func ReadManifest(dir string) (*Manifest, error) {
	path := filepath.Join(dir, manifestFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, atomicfile.Fault("reading the manifest", err)
	}
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fault.New(fault.Usage, "reading "+path, err)
	}
	if m.Format > ManifestVersion {
		return nil, fault.Newf(fault.Usage, "reading %s: format version %d is newer than %d", path, m.Format, ManifestVersion).
			WithHint("this directory was written by a newer batch: use that version, or another output directory")
	}
	return &m, nil
}

// WriteManifest replaces the manifest; it is durable on return. The format
// version is set by the store.
func (s *Store) WriteManifest(m *Manifest) error {
	if err := s.check("writing the manifest"); err != nil {
		return err
	}
	path := filepath.Join(s.dir, manifestFile)
	if _, err := ReadManifest(s.dir); fault.KindOf(err) == fault.Usage {
		if _, err := s.moveAside(path); err != nil {
			return atomicfile.Fault("moving a broken manifest aside", err)
		}
	}
	m.Format = ManifestVersion
	text, err := python.Compact(m)
	if err != nil {
		return fault.New(fault.Bug, "encoding the manifest", err)
	}
	text, err = indentJSON(s.mask.JSON(text))
	if err != nil {
		return fault.New(fault.Bug, "encoding the manifest", err)
	}
	err = s.files.Write(path, 0o644, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	return atomicfile.Fault("writing the manifest", err)
}

// indentJSON indents text for people and ends it with a newline.
func indentJSON(text []byte) ([]byte, error) {
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}
