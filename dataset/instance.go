// Package dataset says what to run: it reads SWE-bench-style rows, selects
// among them, and names each one's image.
//
// Rows come from parquet, JSON Lines or JSON files (plain, gzip or zstd),
// folders and globs of them, a Hugging Face dataset, or the embedded demo.
// A reader either returns every row or an error that names the file and row;
// it never drops or repairs one in silence. Columns it does not know are kept.
package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

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
	Image            string // image_name, docker_image or image of the row; empty when it has none
	EvalScript       string
	LogParser        string
	EvalType         string

	// Fields holds every column of the row under its own name, the ones above
	// included, as string, bool, int64, float64, nil, []any or map[string]any.
	// It must not be changed.
	Fields map[string]any
}

// Digest is the SHA-256 of all that the row holds, in hexadecimal: rows that differ
// in any column have different ones, and a row that is read again, or from its wire
// form, has the same.
func (in Instance) Digest() string {
	data, err := json.Marshal(toWire(in.Fields))
	if err != nil {
		data = fmt.Appendf(nil, "%#v", in.Fields) // a type that no row holds
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// CheckTasks reports, as a Usage fault that names the first and says how many
// there are, instances whose problem statement is absent or blank: an agent
// would be paid for work on nothing.
func CheckTasks(in []Instance) error {
	first, n := "", 0
	for _, i := range in {
		if strings.TrimSpace(i.ProblemStatement) != "" {
			continue
		}
		if n++; n == 1 {
			first = i.ID
		}
	}
	if n == 0 {
		return nil
	}
	return fault.Newf(fault.Usage, "reading the tasks: problem_statement of %s is missing or blank (so in %d of %d instances)",
		first, n, len(in)).
		WithHint("the problem_statement is what the agent is asked to do: add it, or select other instances")
}

// ImageName returns the name of the image that the instance runs in: the row's
// own, unchanged, else the one that the SWE-bench project publishes for it,
// docker.io/swebench/sweb.eval.x86_64.<id>:latest in lower case with every
// "__" of the id written "_1776_".
//
// A prefix is a mirror: it takes the place of the registry host, or stands in
// front of a name that has none; the rest of the name stays. With
// "mirror.local/" (or "mirror.local"), docker.io/swebench/x:latest,
// ghcr.io/swebench/x:latest and swebench/x:latest all become
// mirror.local/swebench/x:latest; with "mirror.local/hub" they become
// mirror.local/hub/swebench/x:latest.
func (in Instance) ImageName(prefix string) string {
	name := in.Image
	if name == "" {
		name = strings.ToLower("docker.io/swebench/sweb.eval.x86_64." +
			strings.ReplaceAll(in.ID, "__", "_1776_") + ":latest")
	}
	prefix = strings.TrimRight(prefix, "/")
	if prefix == "" {
		return name
	}
	if host, rest, ok := strings.Cut(name, "/"); ok && isHost(host) {
		name = rest
	}
	return prefix + "/" + name
}

// isHost tells a registry from a namespace as Docker does: by a dot, a port, or "localhost".
func isHost(part string) bool {
	return part == "localhost" || strings.ContainsAny(part, ".:")
}
