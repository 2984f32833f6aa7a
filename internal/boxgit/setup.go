package boxgit

import (
	"fmt"
	"path"
	"slices"

	"batch.example/batch/internal/diff"
)

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
