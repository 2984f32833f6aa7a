package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"batch.example/batch/dataset/harbor"
	"batch.example/batch/fault"
)

// Instance is one row: a repository at a commit with a problem to solve.
// Strings hold the row's exact bytes; Patch and TestPatch need not be UTF-8.
type Instance struct {
	ID               string // instance_id, never empty
	Repo             string // owner/name
	BaseCommit       string
	Version          string
	ProblemStatement string
	Patch            string // the gold patch; never shown to a model
	TestPatch        string
	FailToPass       []string // test ids, untrimmed
	PassToPass       []string
	Image            string // image_name, docker_image or image of the row; may be empty
	EvalScript       string
	LogParser        string
	EvalType         string

	// Fields has every column of the row under its own name, including the columns above, as
	// string, bool, int64, float64, nil, []any or map[string]any. It has instance_id even if the
	// row does not. It must not be changed.
	Fields map[string]any

	// Task is the folder of a task in Harbor's format; nil: the instance is a row of a file. A row's
	// wire form has no Task.
	Task *harbor.Task
}

// Digest is the SHA-256 of the whole row, in hexadecimal. Rows that differ in any column have
// different digests. A row that is read again, also from its wire form, has the same digest.
func (in Instance) Digest() string {
	data, err := json.Marshal(toWire(in.Fields))
	if err != nil {
		data = fmt.Appendf(nil, "%#v", in.Fields) // a type that rows cannot have
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// WithTests returns the instance with other expected tests. Its row has them as lists, in the
// columns that already list tests, or in FAIL_TO_PASS and PASS_TO_PASS if there are none. All other
// columns are shared with in.
func (in Instance) WithTests(failToPass, passToPass []string) Instance {
	in.FailToPass, in.PassToPass = failToPass, passToPass
	in.Fields = maps.Clone(in.Fields)
	for _, column := range []struct {
		names []string
		tests []string
	}{{failToPassColumns, failToPass}, {passToPassColumns, passToPass}} {
		name := column.names[0]
		for _, other := range slices.Backward(column.names) {
			if in.Fields[other] != nil {
				name = other
			}
		}
		in.Fields[name] = anyList(column.tests)
	}
	return in
}

func anyList(texts []string) []any {
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}

// Misspelled returns a sentence for a hint if a column of the row may be a misspelling of one of
// columns, which are missing. It returns "" if no name is similar.
func (in Instance) Misspelled(columns ...string) string {
	for _, column := range columns {
		if text := misspelled(column, in.Fields); text != "" {
			return text
		}
	}
	return ""
}

// License returns the license of the repository from the row's license_name or license, or "" if
// the row has neither.
func (in Instance) License() string {
	for _, name := range []string{"license_name", "license"} {
		if text, ok := in.Fields[name].(string); ok && strings.TrimSpace(text) != "" {
			return text
		}
	}
	return ""
}

// CheckTasks returns a Usage fault if instances have no problem statement or a blank one: an agent
// would be paid for work on nothing. The fault names the first and says how many there are.
func CheckTasks(in []Instance) error {
	var first Instance
	n := 0
	for _, i := range in {
		if strings.TrimSpace(i.ProblemStatement) != "" {
			continue
		}
		if n++; n == 1 {
			first = i
		}
	}
	if n == 0 {
		return nil
	}
	return fault.Newf(fault.Usage, "reading the tasks: problem_statement of %s is missing or blank (%d of %s)",
		first.ID, n, instances(len(in))).
		WithHint("%sthe problem_statement is the agent's task: add it, or select other instances",
			misspelled("problem_statement", first.Fields))
}

// CheckGold returns a Usage fault if instances have no gold patch: the oracle has nothing to submit
// for them, and its result would say nothing about their images. The fault names the first and says
// how many there are.
func CheckGold(in []Instance) error {
	missing := slices.DeleteFunc(slices.Clone(in), func(i Instance) bool { return strings.TrimSpace(i.Patch) != "" })
	if len(missing) == 0 {
		return nil
	}
	return fault.Newf(fault.Usage, "model oracle submits the gold patch of each row, and column patch of %s is missing or empty (%d of %s)",
		missing[0].ID, len(missing), instances(len(in))).
		WithHint("add a patch to each row, select other instances, or check the images with `-m noop`")
}

// ImageName returns the name of the image that the instance runs in: the row's own image,
// unchanged, or the image that the SWE-bench project publishes for it,
// docker.io/swebench/sweb.eval.x86_64.<id>:latest in lower case with "_1776_" for every "__" of the
// id.
//
// A prefix is a mirror: it replaces the registry host, or is put before a name without one; the
// rest of the name stays. With "mirror.local/" (or "mirror.local"), docker.io/swebench/x:latest,
// ghcr.io/swebench/x:latest and swebench/x:latest all become mirror.local/swebench/x:latest; with
// "mirror.local/hub" they become mirror.local/hub/swebench/x:latest.
func (in Instance) ImageName(prefix string) string {
	name := in.Image
	if in.ImageDerived() {
		name = strings.ToLower("docker.io/swebench/sweb.eval.x86_64." +
			strings.ReplaceAll(in.ID, "__", "_1776_") + ":latest")
	}
	prefix = strings.TrimRight(prefix, "/")
	if prefix == "" || in.Task != nil && in.Task.Built() { // no registry has what batch builds
		return name
	}
	if host, rest, ok := strings.Cut(name, "/"); ok && isHost(host) {
		name = rest
	}
	return prefix + "/" + name
}

// ImageDerived reports whether the row names no image, so that [Instance.ImageName]
// derives the name from the id.
func (in Instance) ImageDerived() bool { return in.Image == "" }

// ExplainImage adds a hint to err, which says why the image is not available, if the image's name
// was derived from the id. It keeps the kind of err.
func (in Instance) ExplainImage(err error) error {
	if !in.ImageDerived() || fault.KindOf(err) != fault.Instance {
		return err
	}
	return fault.New(fault.Instance, "", err).
		WithHint("%sthe row has no image_name, so this name was derived from its instance_id, as SWE-bench names its images;\n"+
			"if the image has another name, set column image_name (or docker_image) in the row; if it is in another registry\n"+
			"or in a mirror, name that with `--image-prefix`", in.Misspelled("image_name", "docker_image"))
}

// isHost reports whether part is a registry rather than a namespace. Docker's rule is a dot, a
// port, or "localhost".
func isHost(part string) bool {
	return part == "localhost" || strings.ContainsAny(part, ".:")
}

// instances formats a number of instances.
func instances(n int) string {
	if n == 1 {
		return "1 instance"
	}
	return fmt.Sprintf("%d instances", n)
}
