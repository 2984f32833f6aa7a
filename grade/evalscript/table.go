package evalscript

import (
	_ "embed"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"batch.example/batch/fault"
	"batch.example/batch/internal/near"
)

//go:embed specs.json
var specsJSON []byte

//go:embed swegym.json
var gymJSON []byte

// repo is the table's entry for a repository.
type repo struct {
	Form  string // one of forms
	Specs []struct {
		Versions []string
		Commands
	}
}

// Commands says how to test a repository.
type Commands struct {
	TestCmd      []string `json:"test_cmd"`
	Install      []string // run before the tests, every time
	EvalCommands []string `json:"eval_commands"` // run at the beginning, in the environment
	Build        []string // run after the test patch is applied
}

// table is parsed on first use: most runs have rows with their own scripts. Its keys are in lower
// case, because GitHub's names ignore case.
var table = sync.OnceValue(func() map[string]repo {
	t := map[string]repo{}
	for _, data := range [][]byte{specsJSON, gymJSON} {
		var part map[string]repo
		if err := json.Unmarshal(data, &part); err != nil {
			panic("evalscript: the table: " + err.Error()) // a test reads the table
		}
		for name, r := range part {
			t[strings.ToLower(name)] = r
		}
	}
	return t
})

// Known reports whether the table has the repository, so that [Derive] knows its versions.
func Known(repository string) bool {
	_, ok := table()[strings.ToLower(repository)]
	return ok
}

// find returns the form of a row's script, and its commands.
func find(row Row) (string, Commands, error) {
	r, ok := table()[strings.ToLower(row.Repo)]
	if !ok {
		return "", Commands{}, fault.Newf(fault.Instance, "deriving the eval script of %s: no test command is known for repository %q", row.InstanceID, row.Repo).
			WithHint("%s", near.Hint(near.Name(row.Repo, slices.Collect(maps.Keys(table()))),
				"the row needs the columns eval_script, log_parser and eval_type"))
	}
	var versions []string
	for _, s := range r.Specs {
		if slices.Contains(s.Versions, row.Version) {
			return r.Form, s.Commands, nil
		}
		versions = append(versions, s.Versions...)
	}
	return "", Commands{}, fault.Newf(fault.Instance, "deriving the eval script of %s: no test command is known for version %q of %s", row.InstanceID, row.Version, row.Repo).
		WithHint("%s", near.Hint(near.Name(row.Version, versions),
			"the row needs the columns eval_script, log_parser and eval_type"))
}
