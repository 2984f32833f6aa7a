package boxgit

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"batch.example/batch/internal/lazy"
	"batch.example/batch/internal/printable"
)

// Base compares a repository with a commit, before it was scrubbed.
type Base struct {
	Head   string // HEAD's commit; empty if there is none
	Commit string // the other commit's full id; empty if the repository does not have it
	Ahead  int    // commits of Head's history that Commit's does not have
	Behind int    // commits of Commit's history that Head's does not have

	Changed Files // that differ between Head and Commit
	Unsaved Files // tracked files with changes that are not committed

	none    string // why there is no Head
	several int    // how many commits have an id that begins with the abbreviated id
}

// Files are paths in a repository.
type Files struct {
	Names []string // at most 100; quoted and escaped as git does if they have unusual bytes
	Total int
}

// String returns the names of some files and how many more there are.
func (f Files) String() string {
	const some = 5
	text := strings.Join(f.Names[:min(some, len(f.Names))], ", ")
	if f.Total > some {
		text += fmt.Sprintf(" and %d more", f.Total-some)
	}
	return text
}

var commitID = lazy.Regexp(`^[0-9a-f]{7,64}$`)

// ID returns a base_commit in the form that [Script] accepts. It is empty for a text that
// is not a commit id, full or abbreviated to at least 7 digits.
func ID(baseCommit string) string {
	id := strings.ToLower(strings.TrimSpace(baseCommit))
	if !commitID().MatchString(id) {
		return ""
	}
	return id
}

var factLine = lazy.Regexp(`^base: ([a-z-]+) (.+)$`)

// ReadBase reads what Script printed about the commit that it was given,
// whatever the result of the scrub.
func ReadBase(output []byte, exitCode int) Base {
	b := Base{none: fmt.Sprintf("finding its commit: exit code %d, output %.300q", exitCode, bytes.TrimSpace(output))}
	lines := bufio.NewScanner(bytes.NewReader(output))
	lines.Buffer(nil, len(output)+1)
	for lines.Scan() {
		if m := factLine().FindStringSubmatch(lines.Text()); m != nil {
			b.learn(m[1], m[2])
		}
	}
	return b
}

func (b *Base) learn(fact, value string) {
	n, _ := strconv.Atoi(value)
	switch fact {
	case "none":
		b.none = missing[value]
	case "head":
		b.Head = value
	case "commit":
		b.Commit = value
	case "several":
		b.several = n
	case "ahead":
		b.Ahead = n
	case "behind":
		b.Behind = n
	case "changed":
		b.Changed.Total = n
	case "changed-file":
		b.Changed.Names = append(b.Changed.Names, value)
	case "unsaved":
		b.Unsaved.Total = n
	case "unsaved-file":
		b.Unsaved.Names = append(b.Unsaved.Names, value)
	}
}

// Mismatch returns why an image with such a repository is not at baseCommit, for the
// end of a sentence. It is empty if the image is at baseCommit: HEAD is that commit, or one
// commit on top of it that only sets up the environment. Such a commit changes at most
// files that a set-up may change ([setUpFiles]), and none that the gold patch changes.
func (b Base) Mismatch(baseCommit, gold string) string {
	id, head := ID(baseCommit), b.Head[:min(12, len(b.Head))]
	switch {
	case id == "":
		return "that is not the id of a commit"
	case b.Head == "":
		return b.none
	case strings.HasPrefix(b.Head, id):
		return ""
	case b.several > 0:
		return fmt.Sprintf("%d commits have ids that begin with it; HEAD is %s", b.several, head)
	case b.Commit == "":
		return fmt.Sprintf("the repository does not have that commit; HEAD is %s", head)
	case b.Behind > 0 || b.Ahead != 1:
		return fmt.Sprintf("HEAD is %s, %s it", head, distance(b.Ahead, b.Behind))
	}
	if wrong := b.unexpectedChange(gold); wrong != "" {
		return fmt.Sprintf("HEAD is %s, one commit on top of it, which %s", head, wrong)
	}
	return ""
}

var missing = map[string]string{
	"git":        "the image has no git, so its commit is unknown",
	"repository": "there is no git repository around the working directory",
	"commit":     "the repository around the working directory has no commit checked out",
}

func distance(ahead, behind int) string {
	commits := func(n int, where string) string { return printable.Count(n, "commit ", "commits ") + where }
	switch {
	case behind == 0:
		return commits(ahead, "ahead of")
	case ahead == 0:
		return commits(behind, "behind")
	default:
		return commits(ahead, "ahead of") + " and " + commits(behind, "behind")
	}
}
