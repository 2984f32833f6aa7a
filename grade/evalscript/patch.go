package evalscript

import (
	"slices"
	"strings"

	"batch.example/batch/internal/diff"
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
}

// changes returns the changes of a git diff, with the paths that SWE-bench reads.
func changes(testPatch string) []change {
	var list []change
	for _, f := range diff.Read(testPatch) {
		if !f.Git {
			continue
		}
		c := change{created: f.Created}
		first, _, _ := strings.Cut(f.Text, "\n")
		if m := header().FindStringSubmatch(first); m != nil {
			c.from, c.to = m[2], m[2]
		}
		if f.Renamed {
			c.from = diff.Trim(f.Old)
		}
		list = append(list, c)
	}
	return list
}

// withoutBinaries returns the diff without the parts that git cannot apply, and whether
// there were any.
func withoutBinaries(testPatch string) (rest string, dropped bool) {
	var kept strings.Builder
	last := false
	for _, f := range diff.Read(testPatch) {
		if last = f.Omitted; last {
			dropped = true
		} else {
			kept.WriteString(f.Text)
		}
	}
	switch {
	case !dropped:
		return testPatch, false
	case last: // the published scripts have one empty line less then
		return strings.TrimSuffix(kept.String(), "\n"), true
	}
	return kept.String(), true
}
