package boxgit

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"regexp"
	"strconv"

	"batch.example/batch/internal/bash"
)

//go:embed repo.sh
var repo string

//go:embed base.sh
var base string

//go:embed scrub.sh
var hide string

// Script is the bash source. It does not depend on the environment it runs in,
// but for GIT_DIR, PATH and the directory, and for what git's own settings there say
// of core.abbrev; run it as bash -p -c. Its arguments, which may be left out, are the
// [ID] of the commit that the repository should be at, or an empty one, and what is
// to be done:
//
//   - [Keep]: the history is left as it is. This is quick.
//   - [Scrub]: the work tree's changes are not looked for, which Keep has done.
//   - [Known]: it is known that there is nothing to scrub but git's own files, such as
//     reflogs: a scrub of the same files said [Clean], or was made before. This is
//     quick too, and of use to no one else: objects are not looked at.
//
// Without it, all is done.
var Script = repo + base + hide

// Command is a command line that runs [Script] for a row's base_commit.
func Command(baseCommit, what string) string {
	return "bash -p -c " + bash.Quote(Script) + " gitscrub " + bash.Quote(ID(baseCommit)) + " " + what
}

// What [Script] may be asked to do.
const (
	Keep  = "keep"
	Scrub = "scrub"
	Known = "known"
)

// Clean is the verdict where there was nothing to do.
const Clean = "clean"

// Version changes when the Script does.
var Version = fmt.Sprintf("%x", sha256.Sum256([]byte(Script)))[:12]

// Report is what was done.
type Report struct {
	Verdict string // "scrubbed", [Clean], "kept", "no repository" or "no git"
	Refs    int    // deleted
	Objects int    // deleted, or packed more than once
}

var reportLine = regexp.MustCompile(`(?m)^gitscrub: ([a-z ]+), (\d+) refs, (-?\d+) objects$`)

// Read reads the output of Script. An error means that history may be left.
func Read(output []byte, exitCode int) (Report, error) {
	m := reportLine.FindSubmatch(output)
	if exitCode != 0 || m == nil {
		return Report{}, fmt.Errorf("scrubbing the git history: exit code %d, output %.1000q", exitCode, bytes.TrimSpace(output))
	}
	r := Report{Verdict: string(m[1])}
	var err error
	if r.Refs, err = strconv.Atoi(string(m[2])); err == nil {
		r.Objects, err = strconv.Atoi(string(m[3]))
	}
	return r, err
}
