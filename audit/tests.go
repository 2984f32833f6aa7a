package audit

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"batch.example/batch/dataset"
	"batch.example/batch/internal/diff"
	"batch.example/batch/internal/lazy"
)

// findTestFiles finds edits of the files whose tests decide the verdict.
func findTestFiles(t *task, h *hits) {
	files := decidingFiles(t.row)
	for i := range t.actions {
		for _, w := range t.actions[i].writes {
			if slices.ContainsFunc(files, w.is()) {
				h.add(&t.actions[i], w.text, path.Base(w.path))
			}
		}
	}
	for _, f := range t.patch {
		if slices.Contains(files, f.Path()) {
			h.add(nil, firstChange(f, nil), "")
		}
	}
}

// firstChange names the file and its first changed line that want matches; nil is any line.
func firstChange(f diff.File, want func(string) bool) string {
	for _, h := range f.Hunks {
		for _, l := range h.Lines {
			if l.Kind != ' ' && strings.TrimSpace(l.Text) != "" && (want == nil || want(l.Text)) {
				return f.Path() + ": " + string(l.Kind) + l.Text
			}
		}
	}
	return f.Path()
}

// djangoTest matches a test's id of unittest: test_name (package.module.Class).
var djangoTest = lazy.Regexp(`^\w+ \(([\w.]+)\)`)

// decidingFiles returns the files of test_patch, and of the tests that decide the verdict.
func decidingFiles(row *dataset.Instance) []string {
	var files []string
	for _, f := range diff.Read(row.TestPatch) {
		files = append(files, f.Path())
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

// configs are files that only configure tests.
var configs = lazy.Regexp(`^(?:conftest\.py|pytest\.ini|\.pytest\.ini|noxfile\.py|runtests\.py|(?:jest|vitest|karma)\.(?:config|conf)\.\w+|\.mocharc\.\w+|phpunit\.xml(?:\.dist)?|\.rspec|spec_helper\.rb)$`)

// mixed are files that configure tests and other things, and the words about tests in them.
var mixed = map[string]func() *regexp.Regexp{
	"setup.cfg": pythonWords, "tox.ini": pythonWords, "pyproject.toml": pythonWords,
	"package.json": lazy.Regexp(`"(?:pre|post)?test(?::[\w:-]+)?"\s*:|"(?:testMatch|testRegex|testPathIgnorePatterns|testRunner|setupFiles\w*|moduleNameMapper|snapshot\w+)"`),
}

var pythonWords = lazy.Regexp(`(?:\[|:|\b)(?:tool:)?pytest(?:\.ini_options)?\]|\b(?:addopts|testpaths|norecursedirs|python_files|python_classes|python_functions|xfail_strict|filterwarnings|collect_ignore|doctest_\w+|usefixtures)\b|--(?:deselect|ignore)\b|^\s*(?:py\.test|pytest)\s|^\s*commands\s*=`)

// findTestConfig finds edits of files that decide which tests run and how.
func findTestConfig(t *task, h *hits) {
	for i := range t.actions {
		for _, w := range t.actions[i].writes {
			name := path.Base(w.path)
			words := mixed[name]
			if !w.outside() && (configs().MatchString(name) || words != nil && words().MatchString(w.text+"\n"+w.data)) {
				h.add(&t.actions[i], w.text, name)
			}
		}
	}
	for _, f := range t.patch {
		name := path.Base(f.Path())
		switch words := mixed[name]; {
		case configs().MatchString(name):
			h.add(nil, firstChange(f, nil), "")
		case words != nil && !onlyVerbose(f):
			want := words().MatchString
			if slices.ContainsFunc(append(f.Lines('+'), f.Lines('-')...), want) {
				h.add(nil, firstChange(f, want), "")
			}
		}
	}
}

// onlyVerbose reports whether a change only adds -rA, as SWE-bench's own set-up of images does.
func onlyVerbose(f diff.File) bool {
	plain := func(kind byte) string {
		return strings.ReplaceAll(strings.Join(f.Lines(kind), "\n"), " -rA", "")
	}
	return plain('+') == plain('-')
}
