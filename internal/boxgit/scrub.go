package boxgit

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"strconv"

	"batch.example/batch/internal/bash"
	"batch.example/batch/internal/lazy"
)

//go:embed repo.sh
var repo string

//go:embed base.sh
var base string

//go:embed scrub.sh
var hide string

// Plain is the source for a sh, where there is no bash, with the arguments of [Script]. It refuses the
// repositories that it does not know, by an exit code of 1, and shares nothing.
//
//go:embed plain.sh
var Plain string

// Script is the bash source. Of its environment it uses only GIT_DIR, PATH, the
// directory, and core.abbrev in git's settings; run it as bash -p -c. Its optional
// arguments are the [ID] of the commit that the repository should be at, or an empty
// text, and a mode:
//
//   - [Keep] does not change the history. It is quick.
//   - [Scrub] does not search for changes in the working tree, because Keep has done so.
//   - [Share] is Scrub in a container that is removed afterwards: it writes the objects that
//     stay into the folder [Shared]. A Scrub in another container of the image that has
//     this folder, perhaps read-only, uses them from there, which takes a moment.
//   - [Known] only removes git's own files, such as reflogs. It is quick because it does
//     not check objects, so use it only if a scrub of the same files was [Clean] or
//     was made before.
//
// Without a mode, it does everything.
var Script = repo + base + hide

// Command returns a command line, for bash or sh, that runs [Script] for a row's base_commit, or without
// bash [Plain].
func Command(baseCommit, what string) string {
	with := func(shell, script string) string {
		return "gitscrub() { " + shell + " -c " + bash.Quote(script) + ` gitscrub "$@"; }`
	}
	return "if command -v bash >/dev/null; then " + with("bash -p", Script) + "; else " + with("sh", Plain) + "; fi; gitscrub " + bash.Quote(ID(baseCommit)) + " " + what
}

// Modes of [Script].
const (
	Keep  = "keep"
	Scrub = "scrub"
	Share = "share"
	Known = "known"
)

// Shared is the folder in which containers of one image share the outcome of a scrub.
const Shared = "/dev/batch-history"

// OutcomeFile is where a container has the [Report.Outcome] of an earlier scrub of the same
// image and commit. The script removes the file.
const OutcomeFile = "/dev/batch-outcome"

// Clean is the verdict if there was nothing to remove.
const Clean = "clean"

// Version changes when the scripts change.
var Version = fmt.Sprintf("%x", sha256.Sum256([]byte(Script+Plain)))[:12]

// Report describes what a scrub did.
type Report struct {
	Verdict string // "scrubbed", [Clean], "kept", "no repository" or "no git"
	Refs    int    // deleted
	Objects int    // deleted, or packed more than once; also files that git does not read

	// Outcome is what a scrub has found out about which objects stay. A later one of the same
	// image and commit that has it as [OutcomeFile] need not walk through the history. It is empty if
	// there is none, such as without the helper, or if it is too long to print. That of other packs is
	// found out, and costs only time; a damaged one must not be used.
	Outcome string
}

var outcomeLine = lazy.Regexp(`(?m)^outcome: ([A-Za-z0-9+/=]+)$`)

var reportLine = lazy.Regexp(`(?m)^gitscrub: ([a-z ]+), (\d+) refs, (-?\d+) objects$`)

// Read reads the output of Script. An error means that history may be left.
func Read(output []byte, exitCode int) (Report, error) {
	m := reportLine().FindSubmatch(output)
	if exitCode != 0 || m == nil {
		return Report{}, fmt.Errorf("scrubbing the git history: exit code %d, output %.1000q", exitCode, bytes.TrimSpace(output))
	}
	r := Report{Verdict: string(m[1])}
	var err error
	if m := outcomeLine().FindSubmatch(output); m != nil {
		if outcome, err := base64.StdEncoding.AppendDecode(nil, m[1]); err == nil { // otherwise it only costs time
			r.Outcome = string(outcome)
		}
	}
	if r.Refs, err = strconv.Atoi(string(m[2])); err == nil {
		r.Objects, err = strconv.Atoi(string(m[3]))
	}
	return r, err
}
