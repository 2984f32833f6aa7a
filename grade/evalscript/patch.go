package evalscript

import (
	"slices"
	"strings"

	"batch.example/batch/internal/lazy"
)

// header is the first line of a file's part in a git diff. As in the SWE-bench harness, it may be
// anywhere, and the last " b/" of the line counts.
var header = lazy.Regexp(`diff --git a/(.*) b/(.*)`)

// TestFiles returns the paths that a test patch changes, with their names after it. They are reset
// before the patch is applied and after the tests. A path can be absent from the base commit.
// SWE-bench 5 has the same list for Python repositories.
func TestFiles(testPatch string) []string {
	var files []string
	for _, m := range header().FindAllStringSubmatch(testPatch, -1) {
		files = append(files, m[2])
	}
	return files
}

// Paths returns every path that a test patch names, before and after the change, without
// duplicates. These files must be as in the base commit for the patch to apply.
func Paths(testPatch string) []string {
	var files []string
	for _, c := range changes(testPatch) {
		for _, path := range []string{c.from, c.to} {
			if path != "" && !slices.Contains(files, path) {
				files = append(files, path)
			}
		}
	}
	return files
}

// notTests are the endings of paths that a test command does not get (NON_TEST_EXTS of SWE-bench).
var notTests = []string{".json", ".png", "csv", ".txt", ".md", ".jpg", ".jpeg", ".pkl", ".yml", ".yaml", ".toml"}

// mypyCase is the name of a test in the data files of python/mypy.
var mypyCase = lazy.Regexp(`\[case ([^\]]+)\]`)

// Directives returns the arguments that make the test command of a Python repository run the tests
// that the test patch changes: paths, module names in django/django, and one expression for pytest
// -k in python/mypy (as in SWE-Gym).
func Directives(repository, testPatch string) []string {
	if repository == "python/mypy" {
		var cases []string
		for _, m := range mypyCase().FindAllStringSubmatch(testPatch, -1) {
			cases = append(cases, m[1])
		}
		return []string{`"` + strings.Join(cases, " or ") + `"`}
	}
	files := slices.DeleteFunc(TestFiles(testPatch), func(file string) bool {
		return slices.ContainsFunc(notTests, func(end string) bool { return strings.HasSuffix(file, end) })
	})
	if repository == "django/django" {
		for i, file := range files {
			file = strings.TrimPrefix(strings.TrimSuffix(file, ".py"), "tests/")
			files[i] = strings.ReplaceAll(file, "/", ".")
		}
	}
	return files
}

// change is one file's part of a diff.
type change struct {
	from    string // the path before the change; to is the one after it
	to      string
	created bool
	binary  bool // the diff says that the file differs, but not how
	lines   []string
}

// changes splits a git diff into its files. Text before the first file is dropped.
func changes(diff string) []change {
	var list []change
	for _, line := range strings.Split(diff, "\n") {
		if strings.HasPrefix(line, "diff --git ") {
			path := lastPath(line)
			list = append(list, change{from: path, to: path})
		}
		if len(list) == 0 {
			continue
		}
		c := &list[len(list)-1]
		c.lines = append(c.lines, line)
		switch {
		case strings.HasPrefix(line, "new file mode "):
			c.created = true
		case strings.HasPrefix(line, "rename from "):
			c.from = strings.TrimPrefix(line, "rename from ")
		case strings.HasPrefix(line, "Binary files "):
			c.binary = true
		}
	}
	return list
}

// lastPath returns the path after the change from the first line of a file's part. Unless the file
// is renamed, it is also the path before the change.
func lastPath(line string) string {
	if m := header().FindStringSubmatch(line); m != nil {
		return m[2]
	}
	return ""
}

// withoutBinaries returns the diff without the parts that git cannot apply, and whether
// there were any.
func withoutBinaries(diff string) (rest string, dropped bool) {
	var lines []string
	for _, c := range changes(diff) {
		if c.binary {
			dropped = true
			continue
		}
		lines = append(lines, c.lines...)
	}
	if !dropped {
		return diff, false
	}
	return strings.Join(lines, "\n"), true
}
