package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/near"
	"batch.example/batch/internal/python"
	"batch.example/batch/vocab"
)

// place is the position of a row, for errors.
type place struct {
	file, unit string // unit is "row", "line" or "task"
	n          int
}

func (p place) String() string { return fmt.Sprintf("%s %s %d", p.file, p.unit, p.n) }

// row is one row as in its file.
type row struct {
	place
	fields map[string]any
}

// The columns of expected tests. The first one that is not null counts.
var (
	failToPassColumns = []string{"FAIL_TO_PASS", "fail_to_pass"}
	passToPassColumns = []string{"PASS_TO_PASS", "pass_to_pass"}
)

// instance fills the fields of an Instance from the row's known columns.
func (r row) instance() (Instance, error) {
	r = r.named()
	c := columns{row: r}
	in := Instance{
		ID:               c.text("instance_id"),
		Repo:             c.text("repo"),
		BaseCommit:       c.text("base_commit"),
		Version:          c.version(),
		ProblemStatement: c.text("problem_statement"),
		Patch:            c.text("patch"),
		TestPatch:        c.text("test_patch"),
		FailToPass:       c.tests(failToPassColumns...),
		PassToPass:       c.tests(passToPassColumns...),
		Image:            c.image(),
		EvalScript:       c.text("eval_script"),
		LogParser:        c.text("log_parser"),
		EvalType:         c.text("eval_type"),
		Fields:           r.fields,
	}
	if c.err != nil {
		return Instance{}, c.err
	}
	if in.ID == "" {
		return Instance{}, noID(r.place, r.fields)
	}
	in.complete()
	return in, checkID(r.place, in.ID)
}

// checkID refuses ids that cannot be the name of a folder, since each id becomes one.
func checkID(at place, id string) error {
	err := vocab.CheckID(id)
	if err == nil && strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		err = errors.New("has a control character in it")
	}
	if err == nil && strings.TrimSpace(id) != id {
		err = errors.New("begins or ends with a blank")
	}
	if err != nil {
		return fault.Newf(fault.Usage, "reading %s: instance_id %.80q %w", at, id, err).
			WithHint("an instance_id becomes the name of a folder")
	}
	return nil
}

func noID(at place, fields map[string]any) error {
	return fault.Newf(fault.Usage, "reading %s: instance_id is missing or empty", at).
		WithHint("%severy row needs an instance_id; `batch help row` describes the columns", misspelled("instance_id", fields))
}

// misspelled returns a sentence for a hint about a missing column: the name in fields that probably
// means it. It returns "" if there is none.
func misspelled(column string, fields map[string]any) string {
	if _, there := fields[column]; there {
		return ""
	}
	if n := near.Name(column, slices.Collect(maps.Keys(fields))); n != "" {
		return fmt.Sprintf("did you mean column %s to be %s? ", n, column)
	}
	return ""
}

// columns reads known columns of one row and keeps the first error.
type columns struct {
	row row
	err error
}

func (c *columns) fail(name string, got any, want string) {
	if c.err == nil {
		c.err = fault.Newf(fault.Usage, "reading %s: column %s is %s, want %s", c.row.place, name, describe(got), want)
	}
}

// text returns the first of the named columns that exists and is not empty.
func (c *columns) text(names ...string) string {
	for _, name := range names {
		switch v := c.row.fields[name].(type) {
		case nil:
		case string:
			if v != "" {
				return v
			}
		default:
			c.fail(name, v, "text")
		}
	}
	return ""
}

// version is like text, but accepts whole numbers, which are often left unquoted.
func (c *columns) version() string {
	if n, ok := c.row.fields["version"].(int64); ok {
		return strconv.FormatInt(n, 10)
	}
	return c.text("version")
}

// image returns the row's image. SWE-bench_Pro has only a tag; the repository is fixed
// (github.com/scaleapi/SWE-bench_Pro-os).
func (c *columns) image() string {
	if name := c.text("image_name", "docker_image", "image"); name != "" {
		return name
	}
	if tag := c.text("dockerhub_tag"); tag != "" {
		return "jefzda/sweap-images:" + tag
	}
	return ""
}

// tests returns the first of the named columns that exists, as test ids.
func (c *columns) tests(names ...string) []string {
	for _, name := range names {
		switch v := c.row.fields[name].(type) {
		case nil:
		case string:
			ids, err := python.List(v)
			if err != nil && c.err == nil {
				c.err = fault.Newf(fault.Usage, "reading %s: column %s is not a list of test ids: %w", c.row.place, name, err).
					WithHint(`write a list, or text such as ["test_a", "test_b"]`)
			}
			return ids
		case []any:
			return c.textList(name, v)
		default:
			c.fail(name, v, "a list of test ids")
		}
	}
	return nil
}

func (c *columns) textList(name string, list []any) []string {
	ids := make([]string, len(list))
	for i, v := range list {
		id, ok := v.(string)
		if !ok {
			c.fail(fmt.Sprintf("%s[%d]", name, i), v, "text")
			return nil
		}
		ids[i] = id
	}
	return ids
}

func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return "text"
	case bool:
		return fmt.Sprint(v)
	case int64, float64:
		return fmt.Sprintf("the number %v", v)
	case []any:
		return "a list"
	default:
		return "an object"
	}
}

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
