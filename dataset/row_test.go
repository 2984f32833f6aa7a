package dataset_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"batch.example/batch/dataset"
)

// The columns are from R2E-Gym-Subset and Multi-SWE-RL. Other columns of Multi-SWE-RL do not matter
// here.
const (
	rowOfR2E = `{"repo_name": "aiohttp", "docker_image": "namanjain12/aiohttp_final:0f1e", "commit_hash": "0f1e", "parsed_commit_content": "{}",
 "execution_result_content": "{}", "modified_files": ["a.py"], "prompt": "p", "problem_statement": "[ISSUE]x[/ISSUE]", "expected_output_json": "{}"}`
	rowOfMultiSWE = `{"org": "cli", "repo": "cli", "number": 9, "base": {"label": "cli:trunk", "ref": "trunk", "sha": "abc"},
 "resolved_issues": [{"number": 8, "title": "It fails", "body": "Look."}], "fix_patch": "diff", "test_patch": "test diff", "f2p_tests": {}}`
)

func TestRowsWithoutAnIDAreNamedByTheirColumns(t *testing.T) {
	for name, text := range map[string]string{
		"a list":           "[" + rowOfR2E + "," + rowOfMultiSWE + "]",
		"the dataset view": `{"rows": [{"row_idx": 0, "row": ` + rowOfR2E + `}, {"row": ` + rowOfMultiSWE + `}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			list := opened(t, text)
			r2e, multi := list[0], list[1]
			if r2e.ID != "aiohttp_0f1e" || r2e.Repo != "aiohttp" || r2e.Image != "namanjain12/aiohttp_final:0f1e" || r2e.Fields["instance_id"] != r2e.ID {
				t.Errorf("R2E-Gym: %+v", r2e)
			}
			if multi.ID != "cli__cli-9" || multi.Repo != "cli/cli" || multi.BaseCommit != "abc" || multi.Patch != "diff" || multi.ProblemStatement != "It fails\nLook." {
				t.Errorf("Multi-SWE-RL: %+v", multi)
			}
			for _, in := range list {
				data, err := json.Marshal(in)
				if err != nil {
					t.Fatal(err)
				}
				var again dataset.Instance
				if err := json.Unmarshal(data, &again); err != nil || again.ID != in.ID || again.Repo != in.Repo || again.Digest() != in.Digest() {
					t.Errorf("%s becomes %+v (%v)", in.ID, again, err)
				}
			}
		})
	}
	for _, text := range []string{rowOfR2E, rowOfMultiSWE} {
		if list := opened(t, text); len(list) != 1 {
			t.Errorf("one row is read as %d", len(list))
		}
	}
}

// opened writes text to a file and reads it as a dataset.
func opened(t *testing.T, text string) []dataset.Instance {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rows.json")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open(t.Context(), dataset.Source{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	return d.Instances
}

func TestTheLicenseIsThatOfTheRow(t *testing.T) {
	for _, c := range []struct {
		fields map[string]any
		want   string
	}{
		{map[string]any{"license_name": "MIT License", "license": "x"}, "MIT License"},
		{map[string]any{"license": "apache-2.0"}, "apache-2.0"},
		{map[string]any{"license_name": " ", "license": []any{"mit"}}, ""},
		{nil, ""},
	} {
		if got := (dataset.Instance{Fields: c.fields}).License(); got != c.want {
			t.Errorf("%v: license %q, want %q", c.fields, got, c.want)
		}
	}
}
