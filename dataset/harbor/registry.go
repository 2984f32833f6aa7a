package harbor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/near"
	"batch.example/batch/internal/regular"
)

// RegistryFile is the name of a list of datasets in a git repository of tasks.
const RegistryFile = "registry.json"

// Registry returns the task folders of one dataset that a registry.json lists: of the named one, as NAME
// or NAME@VERSION, or of the only one if name is empty. The folders are looked for in the checkout that
// the file is in, which must have all of them: nothing is downloaded. Errors are Usage faults.
func Registry(file, name string) (folders []string, err error) {
	text, err := regular.ReadFile(file)
	if err != nil {
		return nil, fault.New(fault.Usage, "reading a registry of tasks", err)
	}
	var sets []struct {
		Name, Version string
		Tasks         []struct {
			Name, Path string
			URL        string `json:"git_url"`
			Commit     string `json:"git_commit_id"`
		}
	}
	if err := json.Unmarshal(text, &sets); err != nil {
		return nil, fault.New(fault.Usage, "reading "+file, err).WithHint("expected a list of {name, version, tasks: [{name, git_url, git_commit_id, path}]}")
	}
	var names []string
	chosen := -1
	for i, s := range sets {
		full := s.Name + "@" + s.Version
		names = append(names, full)
		if name == full || name == s.Name || name == "" && len(sets) == 1 {
			if chosen >= 0 {
				return nil, fault.Newf(fault.Usage, "reading %s: it has several datasets %s: %s and %s", file, s.Name, names[chosen], full).
					WithHint("choose one with --split NAME@VERSION")
			}
			chosen = i
		}
	}
	if chosen < 0 {
		return nil, fault.Newf(fault.Usage, "reading %s: no dataset %q; it has %s", file, name, strings.Join(names, ", ")).
			WithHint("%s", near.Hint(near.Name(name, names), "choose one with --split NAME@VERSION"))
	}
	for _, t := range sets[chosen].Tasks {
		if !filepath.IsLocal(filepath.FromSlash(t.Path)) {
			return nil, fault.Newf(fault.Usage, "reading %s: the path of %s is %q, expected one in the repository", file, t.Name, t.Path)
		}
		dir := filepath.Join(filepath.Dir(file), filepath.FromSlash(t.Path))
		if _, err := os.Stat(filepath.Join(dir, File)); err != nil {
			return nil, fault.Newf(fault.Usage, "reading %s: task %s is not at %s", file, t.Name, dir).
				WithHint("it is in %s at %s: clone that beside the file, and name its folder of tasks with --subset", t.URL, t.Commit)
		}
		folders = append(folders, dir)
	}
	return folders, nil
}
