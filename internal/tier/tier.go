// Package tier divides the tests in two tiers. `make test` is the first: with -short, what must hold on
// every commit. `make test-all` runs everything, whole, without -short. A test that is left to
// `make test-all` says so with [Rest], and runs in `make test` too after a change to what it is about.
//
// A change is a difference from the commit on which `make test-all` last passed. scripts/tests finds
// it, and hands it to the tests in two variables, as lists with spaces: BATCH_CHANGED has the files
// that differ, and BATCH_WOKEN the packages with a changed file of their own or in a package that
// they import. Their names are relative to the module's root.
package tier

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Message begins the message of each test that is left to `make test-all`.
const Message = "left to make test-all"

// Rest skips a test in `make test`, unless the test's package is woken, or a file is changed at or
// below one of the paths. A path is relative to the module's root and may be a pattern of [path.Match].
//
// Tests below e2e, and of internal/readme, run the whole program. Therefore an import does not say what
// they are about, and they name paths.
func Rest(t testing.TB, paths ...string) {
	t.Helper()
	if Left(paths...) {
		t.Skipf("%s, until it changes: %s", Message, strings.Join(append(paths, folder), " "))
	}
}

// Left reports whether [Rest] would skip a test with these paths. Scripts use it.
func Left(paths ...string) bool {
	if !testing.Short() || contains(strings.Fields(os.Getenv("BATCH_WOKEN")), folder) {
		return false
	}
	return !Woken(strings.Fields(os.Getenv("BATCH_CHANGED")), paths)
}

// Woken reports whether one of the changed files is at or below one of the paths, or is go.mod or go.sum.
func Woken(changed, paths []string) bool {
	for _, file := range changed {
		if file == "go.mod" || file == "go.sum" {
			return true
		}
		for _, pattern := range paths {
			if covers(pattern, file) {
				return true
			}
		}
	}
	return false
}

// covers reports whether the pattern matches the file, or a folder above it.
func covers(pattern, file string) bool {
	for ; file != "."; file = path.Dir(file) {
		if ok, _ := path.Match(pattern, file); ok {
			return true
		}
	}
	return false
}

// contains reports whether a list of packages has that name, or is "all".
func contains(packages []string, name string) bool {
	return slices.Contains(packages, name) || slices.Contains(packages, "all")
}

// Root is the module's root, the folder of go.mod. A test begins in its package, the folder below it.
var Root, folder = func() (root, name string) {
	start, err := os.Getwd()
	if err != nil {
		return "", ""
	}
	for root = start; ; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			name, _ = filepath.Rel(root, start)
			return root, filepath.ToSlash(name)
		}
		if root == filepath.Dir(root) {
			return "", ""
		}
	}
}()
