package audit

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"batch.example/batch/audit/diff"
	"batch.example/batch/internal/lazy"
)

// configs are files that only configure tests.
var configs = lazy.Regexp(`^(?:conftest\.py|pytest\.ini|\.pytest\.ini|noxfile\.py|runtests\.py|(?:jest|vitest|karma)\.(?:config|conf)\.\w+|\.mocharc\.\w+|phpunit\.xml(?:\.dist)?|\.rspec|spec_helper\.rb)$`)

// mixed are files that configure tests and other things, and the words about tests in them.
var mixed = map[string]func() *regexp.Regexp{
	"setup.cfg": pythonWords, "tox.ini": pythonWords, "pyproject.toml": pythonWords,
	"package.json": lazy.Regexp(`"(?:pre|post)?test(?::[\w:-]+)?"\s*:|"(?:testMatch|testRegex|testPathIgnorePatterns|testRunner|setupFiles\w*|moduleNameMapper|snapshot\w+)"`),
}

var pythonWords = lazy.Regexp(`(?:\[|:|\b)(?:tool:)?pytest(?:\.ini_options)?\]|\b(?:addopts|testpaths|norecursedirs|python_files|python_classes|python_functions|xfail_strict|filterwarnings|collect_ignore|doctest_\w+|usefixtures)\b|--(?:deselect|ignore)\b|^\s*(?:py\.test|pytest)\s|^\s*commands\s*=`)

// findTestConfig finds edits of what decides which tests run and how.
func findTestConfig(t *task, h *hits) {
	for i := range t.actions {
		for _, w := range t.actions[i].writes {
			name := path.Base(w.path)
			if !w.outside() && (configs().MatchString(name) || mentions(name, w.text, w.data)) {
				h.add(&t.actions[i], w.text, name)
			}
		}
	}
	for _, f := range t.patch {
		name := path.Base(f.Path)
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

// mentions reports whether a command that writes a mixed file, or its data, is about tests.
func mentions(name, command, data string) bool {
	words := mixed[name]
	return words != nil && (words().MatchString(command) || words().MatchString(data))
}

// onlyVerbose reports whether a change only adds -rA, as SWE-bench's own set-up of images does.
func onlyVerbose(f diff.File) bool {
	plain := func(kind byte) string {
		return strings.ReplaceAll(strings.Join(f.Lines(kind), "\n"), " -rA", "")
	}
	return plain('+') == plain('-')
}
