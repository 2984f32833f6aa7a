package gitscrub

import (
	"bytes"
	_ "embed"
	"fmt"
	"regexp"
	"strconv"
)

//go:embed repo.sh
var repo string

//go:embed base.sh
var base string

//go:embed scrub.sh
var scrub string

// Script is the bash source. It does not depend on the environment it runs in,
// but for GIT_DIR, PATH and the directory; run it as bash -p -c. Its arguments,
// which may be left out, are the [ID] of the commit that the repository should be
// at, or an empty one, and "keep" where the history is to be left as it is.
var Script = repo + base + scrub

// Report is what was done.
type Report struct {
	// Verdict is "scrubbed", "clean" when there was nothing to do, "kept", "no
	// repository" or "no git".
	Verdict string
	Refs    int // deleted
	Objects int // deleted, or packed more than once
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
