package audit

import (
	"path"
	"slices"
	"strings"

	"batch.example/batch/audit/diff"
	"batch.example/batch/dataset"
	"batch.example/batch/internal/lazy"
)

// findTestFiles finds edits of the files whose tests decide the verdict.
func findTestFiles(t *task, h *hits) {
	files := decidingFiles(t.row)
	for i := range t.actions {
		for _, w := range t.actions[i].writes {
			if slices.ContainsFunc(files, w.is) {
				h.add(&t.actions[i], w.text, path.Base(w.path))
			}
		}
	}
	for _, f := range t.patch {
		if slices.Contains(files, f.Path) {
			h.add(nil, firstChange(f, nil), "")
		}
	}
}

// firstChange names the file and its first changed line that want matches; nil is any line.
func firstChange(f diff.File, want func(string) bool) string {
	for _, lines := range f.Hunks {
		for _, l := range lines {
			if l.Kind != ' ' && strings.TrimSpace(l.Text) != "" && (want == nil || want(l.Text)) {
				return f.Path + ": " + string(l.Kind) + l.Text
			}
		}
	}
	return f.Path
}

// djangoTest matches a test's id of unittest: test_name (package.module.Class).
var djangoTest = lazy.Regexp(`^\w+ \(([\w.]+)\)`)

// decidingFiles returns the files of test_patch, and of the tests that decide the verdict.
func decidingFiles(row *dataset.Instance) []string {
	var files []string
	for _, f := range diff.Read(row.TestPatch) {
		files = append(files, f.Path)
	}
	for _, list := range [][]string{row.FailToPass, row.PassToPass} {
		for _, id := range list {
			if file, _, found := strings.Cut(id, "::"); found && path.Ext(file) != "" {
				files = append(files, file)
			} else if m := djangoTest().FindStringSubmatch(id); m != nil {
				if parts := strings.Split(m[1], "."); len(parts) > 1 {
					files = append(files, "tests/"+strings.Join(parts[:len(parts)-1], "/")+".py")
				}
			}
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// isTest reports whether a path is of a test, by its name.
func isTest(p string) bool {
	for _, part := range strings.Split(path.Dir(p), "/") {
		if slices.Contains([]string{"test", "tests", "testing", "__tests__", "spec", "specs", "testdata", "fixtures"}, part) {
			return true
		}
	}
	return testName().MatchString(path.Base(p))
}

var testName = lazy.Regexp(`(?i)^tests?[._]|[._-]tests?\.\w+$|\.spec\.\w+$|_spec\.\w+$|^conftest\.py$|Tests?\.(?:java|php|cs)$`)
