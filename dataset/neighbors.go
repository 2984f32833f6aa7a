package dataset

import (
	"encoding/json"
	"maps"
	"strconv"
)

// A row of R2E-Gym has no instance_id. It gets the name REPO_COMMIT, as R2E-Gym names the folder
// that the row was made in (validate_docker_and_hf.py); its image namanjain12/REPO_final:COMMIT has
// the same parts. A row of Multi-SWE-RL has no instance_id either. It gets the name
// ORG__REPO-NUMBER, as in Multi-SWE-bench.

// named adds an instance_id to a row if one follows from the row's other columns.
func (r row) named() row {
	if id, there := r.fields["instance_id"]; there && id != nil && id != "" {
		return r
	}
	id := r.idOfR2E()
	if id == "" {
		id = r.idOfMultiSWE()
	}
	if id != "" {
		r.fields = maps.Clone(r.fields)
		r.fields["instance_id"] = id
	}
	return r
}

func (r row) idOfR2E() string {
	repo, commit := textIn(r.fields, "repo_name"), textIn(r.fields, "commit_hash")
	if repo == "" || commit == "" || r.fields["docker_image"] == nil {
		return ""
	}
	return repo + "_" + commit
}

func (r row) idOfMultiSWE() string {
	org, repo := textIn(r.fields, "org"), textIn(r.fields, "repo")
	number, ok := r.fields["number"].(int64)
	if org == "" || repo == "" || !ok {
		return ""
	}
	return org + "__" + repo + "-" + strconv.FormatInt(number, 10)
}

// complete fills fields of an instance from columns that R2E-Gym and Multi-SWE-bench have in place
// of SWE-bench's.
func (in *Instance) complete() {
	if in.Repo == "" {
		in.Repo = textIn(in.Fields, "repo_name")
	}
	org := textIn(in.Fields, "org")
	if org == "" || in.Repo == "" || in.Fields["fix_patch"] == nil {
		return
	}
	in.Repo = org + "/" + in.Repo
	if in.Patch == "" {
		in.Patch = textIn(in.Fields, "fix_patch")
	}
	if in.BaseCommit == "" {
		in.BaseCommit = textIn(objectIn(in.Fields["base"]), "sha")
	}
	if issues, _ := in.Fields["resolved_issues"].([]any); in.ProblemStatement == "" && len(issues) > 0 {
		issue := objectIn(issues[0]) // the dataset's authors give their agents this one
		in.ProblemStatement = textIn(issue, "title") + "\n" + textIn(issue, "body")
	}
}

// textIn returns a column of text, or "".
func textIn(fields map[string]any, column string) string {
	text, _ := fields[column].(string)
	return text
}

// objectIn returns an object, also from text that has one as JSON, or nil.
func objectIn(v any) map[string]any {
	m, ok := v.(map[string]any)
	if text, _ := v.(string); !ok && json.Unmarshal([]byte(text), &m) != nil {
		return nil
	}
	return m
}
