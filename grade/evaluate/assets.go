package evaluate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"batch.example/batch/fault"
)

// Source says where to find a file of a row's tests.
type Source struct {
	Path string // relative to Workdir
	URL  string // where it can be downloaded; may be empty
}

// Assets returns the files that a row's column image_assets declares for its tests and its gold
// patch, and that patches in text form cannot carry. column is JSON or its decoded form, or nil.
// read returns a file's bytes, or an error that is [fs.ErrNotExist].
//
// The harness grades without files that it cannot get. Here a missing file is an Instance fault,
// since a verdict without it would be meaningless. Other errors of read are passed on.
func Assets(column any, read func(Source) ([]byte, error)) ([]Asset, error) {
	declared, err := declaredAssets(column)
	if err != nil {
		return nil, fault.New(fault.Instance, "reading the column image_assets", err)
	}
	var found []Asset
	var missing []string
	for _, source := range declared {
		if forbidden(source.Path) != "" || path.IsAbs(source.Path) {
			return nil, fault.Newf(fault.Instance, "reading the column image_assets: %q is not a path in the repository", source.Path)
		}
		data, err := read(source)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, source.Path)
		case err != nil:
			return nil, err
		default:
			found = append(found, Asset{Path: source.Path, Data: data})
		}
	}
	if len(missing) > 0 {
		return nil, fault.Newf(fault.Instance, "the tests need files that the row does not carry: %s", list(missing)).
			WithHint("give a task repository's folder tasks with `--assets`: it has them as ID/test_assets/PATH")
	}
	return found, nil
}

// declaredAssets returns the files in the column. Entries without a path are pictures of the
// problem statement.
func declaredAssets(column any) ([]Source, error) {
	var text []byte
	switch v := column.(type) {
	case nil:
		return nil, nil
	case string:
		text = []byte(v)
	default:
		var err error
		if text, err = json.Marshal(v); err != nil {
			return nil, err
		}
	}
	if len(text) == 0 {
		return nil, nil
	}
	var c struct {
		TestPatch []json.RawMessage `json:"test_patch"`
		Patch     []json.RawMessage `json:"patch"`
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("expected an object with the lists test_patch and patch: %w", err)
	}
	var sources []Source
	for _, raw := range append(c.TestPatch, c.Patch...) {
		var entry struct {
			Path string `json:"path"`
			URL  string `json:"url"`
		}
		if json.Unmarshal(raw, &entry) == nil && entry.Path != "" {
			sources = append(sources, Source(entry))
		}
	}
	return sources, nil
}
