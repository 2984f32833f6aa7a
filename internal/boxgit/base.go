package boxgit

import (
	"bufio"
	"bytes"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"batch.example/batch/internal/diff"
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

// setUpFiles are the names of files, in any folder, that a commit on top of base_commit
// may change: they define an environment and how it is built. The official images
// of Python repositories have such a commit, "SWE-bench", with the changes of their set-up
// commands: none in most, pyproject.toml in astropy, setup.py and tox.ini in sphinx,
// and setup.cfg in pytest if its command finds the text to edit; requirements*.txt are
// similar. For other languages the list has the files that the official set-up commands
// change, although those images leave the changes uncommitted: edits by sed (pom.xml,
// *.gradle, *.ant.xml, Gemfile), and files that installing writes.
var setUpFiles = []string{
	"setup.py", "setup.cfg", "tox.ini", "pyproject.toml", "requirements*.txt",
	"go.mod", "go.sum", "Cargo.lock",
	"pom.xml", "*.ant.xml", "*.gradle", "*.gradle.kts",
	"Gemfile", "Gemfile.lock", "composer.json", "composer.lock",
	"package.json", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml",
}

// unexpectedChange returns what the commit on top changes that a set-up would not.
func (b Base) unexpectedChange(gold string) string {
	var other, solved Files
	for _, name := range b.Changed.Names {
		if changes(gold, diff.Unquote(name)) {
			solved.Names = append(solved.Names, name)
		}
		if !isSetUpFile(diff.Unquote(name)) {
			other.Names = append(other.Names, name)
		}
	}
	solved.Total, other.Total = len(solved.Names), len(other.Names)
	unseen := b.Changed.Total - len(b.Changed.Names)
	switch {
	case solved.Total > 0:
		return "changes what the gold patch changes: " + solved.String()
	case other.Total > 0:
		return "changes files that setting up an environment does not: " + other.String()
	case unseen > 0:
		return fmt.Sprintf("changes %d files, more than setting up an environment does", b.Changed.Total)
	}
	return ""
}

func isSetUpFile(name string) bool {
	return slices.ContainsFunc(setUpFiles, func(pattern string) bool {
		ok, _ := path.Match(pattern, path.Base(name))
		return ok
	})
}

// changes reports whether a patch has a part for the file of that name.
func changes(patch, name string) bool {
	return slices.ContainsFunc(diff.Read(patch), func(f diff.File) bool {
		// A diff without prefixes may change a file in a folder named a or b.
		return slices.Contains([]string{diff.Trim(f.Old), diff.Trim(f.New), f.Old, f.New}, name)
	})
}
