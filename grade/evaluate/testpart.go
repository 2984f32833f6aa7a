package evaluate

import (
	"path"
	"slices"
	"strings"

	"batch.example/batch/internal/lazy"
)

// namedTest matches the names of files that are tests wherever they are.
var namedTest = lazy.Regexp(`^tests?\.[a-z]+$|^test_|[_.-](test|tests|spec)\.[a-z]+$|Tests?\.(java|kt|cs|php|swift|scala|groovy)$|\.t$`)

// IsTest reports whether a path is a test, or a file in a folder of tests. Code that a project
// offers for the tests of others, such as django/test/client.py, is not.
func IsTest(name string) bool {
	if namedTest().MatchString(path.Base(name)) {
		return true
	}
	return inTests().MatchString(name) && !shipped().MatchString(name) && !strings.Contains(name, "src/main/")
}

// TestPart divides a patch. tests has the parts, byte for byte, that add or change tests, but not
// the parts that delete or rename them or make symbolic links. paths are all paths of tests that
// the patch names; if it names none, it changes only code.
func TestPart(patch []byte) (tests []byte, paths []string) {
	for _, p := range split(patch) {
		if !slices.ContainsFunc(p.paths(), IsTest) {
			continue
		}
		for _, name := range p.paths() {
			if !slices.Contains(paths, name) {
				paths = append(paths, name)
			}
		}
		renamed := p.from != "" && p.to != "" && p.from != p.to
		changed := p.Binary || len(p.Hunks) > 0
		if p.Git && p.to != "" && changed && !p.Deleted && !p.Symlink && !renamed && !slices.ContainsFunc(p.paths(), func(name string) bool { return forbidden(name) != "" }) {
			tests = append(tests, p.raw...)
		}
	}
	return tests, paths
}
