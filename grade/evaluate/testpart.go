package evaluate

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"batch.example/batch/internal/lazy"
)

// namedTest matches the names of files that are tests wherever they are.
var namedTest = lazy.Regexp(`^tests?\.[a-z]+$|^test_|[_.-](test|tests|spec)\.[a-z]+$|Tests?\.(java|kt|cs|php|swift|scala|groovy)$|\.t$`)

// IsTest reports whether a path is that of a test, or of a file in a folder of tests. What
// a project ships for the tests of others, such as django/test/client.py, is code.
func IsTest(name string) bool {
	if namedTest().MatchString(path.Base(name)) {
		return true
	}
	return inTests().MatchString(name) && !shipped().MatchString(name) && !strings.Contains(name, "src/main/")
}

// TestPart divides a patch. Tests are its parts, byte for byte, that add or change tests:
// none that delete or rename them, or make symbolic links. Paths are all paths of tests that it
// names; without them, the patch changes code only.
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
		added := p.to != "" && p.hunks && !p.deleted && !p.link && !renamed
		if added && bytes.HasPrefix(p.raw, []byte("diff --git ")) && !slices.ContainsFunc(p.paths(), func(name string) bool { return forbidden(name) != "" }) {
			tests = append(tests, p.raw...)
		}
	}
	return tests, paths
}
