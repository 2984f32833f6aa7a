package starter

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"batch.example/batch/fault"
	"batch.example/batch/internal/lazy"
)

// repository is a git repository on this machine.
type repository struct {
	dir  string
	name string                  // owner/name from its remote, or the folder's name
	env  []string                // additional variables for git
	pass map[string]exampleTests // tests of the example's changes, by subject
}

// exampleTests has the tests that a change of the example fixes, and the tests that also passed
// before.
type exampleTests struct{ fixed, kept []string }

// change is the content of one commit.
type change struct {
	commit, parent   string
	message          string
	patch, testPatch string
	exampleTests
}

// safe stops git from starting programs that the repository's configuration names, and keeps
// signatures out of commits and messages, and files and their names unchanged.
var safe = []string{
	"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "-c", "log.showSignature=false",
	"-c", "commit.gpgsign=false", "-c", "core.autocrlf=false", "--literal-pathspecs",
}

// git runs git in the repository and returns its output. A Usage fault unwraps to git's message.
func (r repository) git(ctx context.Context, args ...string) (string, error) {
	var out, diag bytes.Buffer
	cmd := exec.CommandContext(ctx, "git", slices.Concat([]string{"-C", r.dir}, safe, args)...)
	cmd.Env = append(cmd.Environ(), r.env...)
	cmd.Stdout, cmd.Stderr = &out, &diag
	switch err := cmd.Run(); {
	case errors.Is(err, exec.ErrNotFound):
		return "", fault.Newf(fault.Host, "git is not installed").WithHint("install it: rows are made from a repository's history")
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		said := strings.TrimPrefix(strings.TrimSpace(diag.String()), "fatal: ")
		return "", fault.New(fault.Usage, fmt.Sprintf("git %s in %s failed", args[0], r.dir), errors.New(cmp.Or(said, err.Error())))
	}
	return out.String(), nil
}

// check finds the top of the repository and its name.
func (r *repository) check(ctx context.Context) error {
	top, err := r.git(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		if fault.KindOf(err) == fault.Usage {
			err = fault.Newf(fault.Usage, "--repo %s is not a working tree that git can use: %w", r.dir, errors.Unwrap(err)).
				WithHint("name the folder of one, or leave out --repo for an example")
		}
		return err
	}
	r.dir = strings.TrimSuffix(top, "\n")
	if r.name == "" {
		r.name = filepath.Base(r.dir)
		if url, err := r.git(ctx, "remote", "get-url", "origin"); err == nil {
			r.name = remoteName(url, r.name)
		}
	}
	return nil
}

// remoteName returns owner/name from a remote's address, or otherwise if there is none.
func remoteName(url, otherwise string) string {
	m := regexp.MustCompile(`^(?:\w+://[^/]+/|[^/:]+:)(?:.*/)?([\w.-]+)/([\w.-]+?)(?:\.git)?/?\s*$`).FindStringSubmatch(url)
	if m == nil {
		return otherwise
	}
	return m[1] + "/" + m[2]
}

// looked is the number of commits that are searched for rows.
const looked = 500

// changes returns at most n of the latest changes that can become a row. Changes with tests come
// before the others. A merge is one change.
func (r repository) changes(ctx context.Context, n int) (list []change, notes []string, err error) {
	log, err := r.git(ctx, "log", "--first-parent", fmt.Sprintf("--max-count=%d", looked), "--format=%H %P")
	if err != nil {
		if fault.KindOf(err) == fault.Usage {
			err = fault.Newf(fault.Usage, "%s has no commits that git can read: %w", r.dir, errors.Unwrap(err)).WithHint("commit its files first")
		}
		return nil, nil, err
	}
	var untested []change
	for line := range strings.Lines(log) {
		hashes := strings.Fields(line)
		if len(list) == n {
			break
		}
		if len(hashes) < 2 { // the first commit
			continue
		}
		c, err := r.change(ctx, hashes[0], hashes[1])
		switch {
		case err != nil:
			return nil, nil, err
		case c.patch == "" || !utf8.ValidString(c.patch+c.testPatch+c.message): // JSON cannot hold other bytes
		case c.testPatch == "":
			if len(untested) < n {
				untested = append(untested, c)
			}
		default:
			list = append(list, c)
		}
	}
	if tested := len(list); tested < n && len(untested) > 0 {
		list = append(list, untested[:min(len(untested), n-tested)]...)
		notes = append(notes, untestedNote(list[tested:], len(list)))
	}
	if len(list) == 0 {
		hint := "a row is a commit that has a parent and changes other files than tests;\nto write rows yourself, see `batch help row`"
		if shallow, err := r.git(ctx, "rev-parse", "--is-shallow-repository"); err == nil && strings.TrimSpace(shallow) == "true" {
			hint = "it is a shallow clone: `git fetch --unshallow` gets its history"
		}
		return nil, nil, fault.Newf(fault.Usage, "no commit of %s makes a row", r.dir).WithHint("%s", hint)
	}
	return list, notes, nil
}

func untestedNote(untested []change, rows int) string {
	var commits []string
	for _, c := range untested {
		commits = append(commits, c.commit[:8])
	}
	return fmt.Sprintf("without a test_patch, since the commit changes no test file: %d of %d, %s; such a row can be run, but not graded",
		len(untested), rows, strings.Join(commits, ", "))
}

func (r repository) change(ctx context.Context, commit, parent string) (change, error) {
	c := change{commit: commit, parent: parent}
	message, err := r.git(ctx, "log", "-1", "--format=%B", commit)
	if err != nil {
		return c, err
	}
	c.message = strings.TrimSpace(message) + "\n"
	subject, _, _ := strings.Cut(c.message, "\n")
	c.exampleTests = r.pass[subject]
	names, err := r.git(ctx, "diff-tree", "-r", "--no-renames", "--name-only", "-z", parent, commit)
	if err != nil {
		return c, err
	}
	var tests, others []string
	for name := range strings.SplitSeq(strings.TrimSuffix(names, "\x00"), "\x00") {
		switch {
		case name == "":
		case isTest(name):
			tests = append(tests, name)
		default:
			others = append(others, name)
		}
	}
	if c.patch, err = r.diff(ctx, c, others); err != nil {
		return c, err
	}
	c.testPatch, err = r.diff(ctx, c, tests)
	return c, err
}

// maxPaths limits the length of a command: larger changes do not become rows.
const maxPaths = 500

func (r repository) diff(ctx context.Context, c change, paths []string) (string, error) {
	if len(paths) == 0 || len(paths) > maxPaths {
		return "", nil
	}
	return r.git(ctx, append([]string{
		"diff-tree", "-p", "--binary", "--full-index", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv",
		"--src-prefix=a/", "--dst-prefix=b/", c.parent, c.commit, "--",
	}, paths...)...)
}

var testFile = lazy.Regexp(`(?i:(^|[._-])(tests?|specs?)([._-]|$))|^conftest\.py$|Tests?\.\w+$`)

// isTest reports whether a file of a repository is a test, by its name or the name of a folder
// above it.
func isTest(name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		switch strings.ToLower(path.Base(dir)) {
		case "test", "tests", "testing", "testdata", "__tests__", "spec", "specs", "e2e":
			return true
		}
	}
	return testFile().MatchString(path.Base(name))
}

// bundle is the file with the repository's history; the image is built from it.
const bundle = "repo.bundle"

func (t *target) bundle(ctx context.Context, r repository) error {
	to, err := filepath.Abs(filepath.Join(t.dir, bundle))
	if err != nil {
		return fault.New(fault.Host, "writing "+bundle, err)
	}
	t.names, t.made = append(t.names, bundle), append(t.made, to)
	if _, err = r.git(ctx, "bundle", "create", "-q", to, "HEAD"); err != nil {
		_ = os.Remove(to + ".lock") // left by git if it was stopped
	}
	return err
}
