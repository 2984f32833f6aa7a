package evaluate

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"batch.example/batch/internal/diff"
	"batch.example/batch/internal/lazy"
)

// part is the part of a patch about one file.
type part struct {
	diff.File
	raw      []byte // its exact bytes
	from, to string // paths before and after, relative to the repository's root; empty: none
	fresh    bool   // there may have been no such file before
}

// paths returns the one or two paths that a part names.
func (p *part) paths() []string {
	list := make([]string, 0, 2)
	for _, name := range []string{p.from, p.to} {
		if name != "" && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// Paths returns every path that a patch changes, creates, deletes, or renames from or to, without
// duplicates.
func Paths(patch []byte) []string {
	var list []string
	for _, p := range split(patch) {
		for _, name := range p.paths() {
			if !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
	}
	return list
}

// only returns the part of a patch about a file, or nil if there is none or it is about another file
// too.
func only(patch []byte, name string) *part {
	for _, p := range split(patch) {
		if paths := p.paths(); slices.Contains(paths, name) {
			if len(paths) > 1 {
				return nil
			}
			return p
		}
	}
	return nil
}

// split returns the parts of a patch, with the paths that git apply finds.
func split(patch []byte) []*part {
	var parts []*part
	for _, f := range diff.Read(string(patch)) {
		p := &part{File: f, raw: patch[f.Start : f.Start+len(f.Text)], from: strip(f.Old), to: strip(f.New)}
		// A plain diff says no more about a new file than that it had no lines.
		p.fresh = f.Created || f.Renamed || f.Copied || p.from == "" && p.to != "" || len(f.Hunks) > 0 && f.Hunks[0].Old.Lines == 0
		parts = append(parts, p)
	}
	return parts
}

// date matches the time after a name in a plain diff.
var date = lazy.Regexp(`[ \t]+\d{4}-\d\d-\d\d[ T]\d\d:\d\d.*$`)

// others returns further paths that a plain diff may mean: git and patch(1) guess.
func (p *part) others() []string {
	var list []string
	for _, name := range []string{p.Old, p.New} {
		name = date().ReplaceAllString(name, "")
		if p.Git || name == "/dev/null" {
			continue
		}
		for _, other := range []string{clean(strings.TrimLeft(name, "/")), strip(name)} {
			if other != "" && !slices.Contains(list, other) {
				list = append(list, other)
			}
		}
	}
	return list
}

// strip removes the first folder, as git apply and patch -p1 do.
func strip(name string) string {
	_, rest, _ := strings.Cut(strings.TrimLeft(name, "/"), "/")
	return clean(rest)
}

func clean(name string) string {
	if name == "" {
		return ""
	}
	return path.Clean(name)
}

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

// forbidden says why a patch or a row must not name a path; it is empty if the path is allowed.
func forbidden(name string) string {
	for folder := range strings.SplitSeq(name, "/") {
		switch {
		case folder == "..":
			return fmt.Sprintf("the patch names %s, which is outside of the repository", name)
		case strings.EqualFold(folder, ".git"):
			return fmt.Sprintf("the patch names %s, which belongs to git", name)
		}
	}
	return ""
}
