// Package starter creates a first dataset from a git repository: rows from its history, the
// Dockerfile of their image, a configuration, and a README with the commands.
//
// A change of the repository becomes a row: the commit before it is the base_commit, its message
// the problem_statement, its changes to tests the test_patch and all other changes the gold patch.
// One image has the repository with all rows' commits; each container begins with a checkout of its
// row's commit.
//
// Its API is not promised to other programs: see package batch.
package starter

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/distribution/reference"

	"batch.example/batch/fault"
	"batch.example/batch/internal/diff"
	"batch.example/batch/internal/lazy"
)

// Config says what to write. Only Dir is required.
type Config struct {
	Dir   string // the folder to create and fill
	Repo  string // a git repository; empty: an example, made in Dir
	Image string // the rows' image; empty: derived from the repository's name
	Base  string // the Dockerfile's base image; empty: DefaultBase
	Rows  int    // at most; 0: DefaultRows

	// Test is the command that runs the tests in the repository's folder, and LogParser the parser
	// of its output; the example has its own. Without a command, rows have no eval_script and
	// cannot be graded until one is added.
	Test, LogParser string
}

// Defaults of Config.
const (
	DefaultBase = "python:3.12"
	DefaultRows = 3
)

// How to run the tests of the example.
const (
	exampleTest   = "python3 tests/run.py"
	exampleParser = "parse_log_pytest"
)

// Written describes the created files.
type Written struct {
	Dir   string
	Repo  string   // the repository's name, as in the rows
	Image string   // the rows' image, which is still to be built
	Rows  int      // in rows.jsonl
	Files []string // names in Dir
	Notes []string // what a person should know
}

// exampleRepo is the folder of the example's repository in Dir.
const exampleRepo = "repo"

// row is one line of rows.jsonl, in the order of its members.
type row struct {
	ID         string   `json:"instance_id"`
	Repo       string   `json:"repo"`
	BaseCommit string   `json:"base_commit"`
	Statement  string   `json:"problem_statement"`
	Image      string   `json:"image_name"`
	Patch      string   `json:"patch"`
	TestPatch  string   `json:"test_patch"`
	FailToPass []string `json:"FAIL_TO_PASS"`
	PassToPass []string `json:"PASS_TO_PASS"`
	EvalScript string   `json:"eval_script,omitempty"`
	LogParser  string   `json:"log_parser,omitempty"`
	EvalType   string   `json:"eval_type,omitempty"`
}

// Write creates the files of c. It replaces none: an existing file is a Usage fault, and so is a
// repository without usable commits. After a failure, none of the new files stays.
func Write(ctx context.Context, c Config) (w Written, err error) {
	c.Base, c.Rows = cmp.Or(c.Base, DefaultBase), cmp.Or(c.Rows, DefaultRows)
	for flag, name := range map[string]string{"--image": c.Image, "--base": c.Base} {
		if _, err := reference.ParseNormalizedNamed(name); name != "" && err != nil {
			return w, fault.Newf(fault.Usage, "%s %s: %w", flag, name, err).
				WithHint("write an image as for docker pull: lower case, such as my/image:1.0")
		}
	}
	t := &target{dir: c.Dir}
	if err := t.refuse(c.Repo == ""); err != nil {
		return w, err
	}
	defer func() {
		if err != nil {
			t.undo()
		}
	}()
	if err := t.mkdir(c.Dir); err != nil {
		return w, err
	}
	repo := repository{dir: c.Repo}
	if c.Repo == "" {
		if repo, err = t.example(ctx); err != nil {
			return w, err
		}
		if c.Test == "" {
			c.Test, c.LogParser = exampleTest, exampleParser
		}
	}
	if err := repo.check(ctx); err != nil {
		return w, err
	}
	w = Written{Dir: c.Dir, Repo: repo.name, Image: cmp.Or(c.Image, imageName(repo.name))}
	changes, notes, err := repo.changes(ctx, c.Rows)
	if err != nil {
		return w, err
	}
	w.Rows, w.Notes = len(changes), notes
	if err := t.write(ctx, repo, changes, w, c); err != nil {
		return w, err
	}
	w.Files = t.names
	return w, nil
}

// imageName derives an image's name from a repository's name.
func imageName(repo string) string {
	name := regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(filepath.Base(repo)), "-")
	return cmp.Or(strings.Trim(name, "-"), "my") + "-dataset"
}

// instanceID names a row as SWE-bench does, with the commit in place of a number.
func instanceID(repo, commit string) string {
	name := regexp.MustCompile(`[^A-Za-z0-9_.-]+`).ReplaceAllString(strings.ReplaceAll(repo, "/", "__"), "-")
	return strings.TrimLeft(name, ".-") + "-" + commit[:min(8, len(commit))]
}

func rowsOf(changes []change, repo, image, test, parser string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, c := range changes {
		r := row{
			ID: instanceID(repo, c.commit), Repo: repo, BaseCommit: c.parent, Statement: c.message, Image: image,
			Patch: c.patch, TestPatch: c.testPatch,
			FailToPass: append([]string{}, c.fixed...), PassToPass: append([]string{}, c.kept...), // lists, never null
		}
		if r.EvalScript = evalScript(c, test); r.EvalScript != "" {
			r.LogParser, r.EvalType = parser, "pass_and_fail"
		}
		if err := enc.Encode(r); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// target is the folder to fill, and records what was created in it.
type target struct {
	dir   string
	names []string // of files, in dir
	made  []string // paths, for undo
}

// refuse returns a Usage fault if a path that will be written exists.
func (t *target) refuse(example bool) error {
	names := []string{"rows.jsonl", "Dockerfile", ignored, "config.yaml", "README.md", bundle}
	if example {
		names = append(names, exampleRepo)
	}
	for _, name := range names {
		path := filepath.Join(t.dir, name)
		if _, err := os.Lstat(path); err == nil {
			return fault.Newf(fault.Usage, "%s exists already, and is not overwritten", path).
				WithHint("name another directory: `batch dataset init DIR`")
		}
	}
	return nil
}

// undo removes everything that was created.
func (t *target) undo() {
	for i := len(t.made) - 1; i >= 0; i-- {
		if filepath.Base(t.made[i]) == exampleRepo {
			_ = os.RemoveAll(t.made[i]) // the person needs the error that caused undo
			continue
		}
		_ = os.Remove(t.made[i])
	}
}

// mkdir creates a folder and its missing parents.
func (t *target) mkdir(dir string) error {
	var missing []string
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		if _, err := os.Lstat(d); err == nil || d == filepath.Dir(d) { // a dangling link exists too
			break
		}
		missing = append([]string{d}, missing...)
	}
	t.made = append(t.made, missing...) // some are created before one fails
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fault.New(fault.Usage, "making the directory", err).WithHint("name another one: `batch dataset init DIR`")
	}
	return nil
}

func (t *target) add(name string, data []byte) error {
	path := filepath.Join(t.dir, name)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return fault.New(fault.Host, "writing", err)
	}
	t.names, t.made = append(t.names, name), append(t.made, path)
	_, err = f.Write(data)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fault.New(fault.Host, "writing "+path, err)
	}
	return nil
}

// endOfPatch ends a here-document; SWE-bench's scripts use the same word.
const endOfPatch = "EOF_114329324912"

// evalScript returns the eval_script of a change: it puts the tests into the state of the change
// and runs command between the lines that SWE-bench's scripts print around test output. It is empty
// without a command, or if the tests' patch cannot be in a script.
func evalScript(c change, command string) string {
	if command == "" || strings.Contains(c.testPatch, "\x00") || strings.Contains("\n"+c.testPatch, "\n"+endOfPatch+"\n") {
		return ""
	}
	reset := ""
	if old := oldFiles(c.testPatch); len(old) > 0 {
		reset = "git checkout " + c.parent + " -- " + strings.Join(old, " ") + "\n"
	}
	apply := ""
	if c.testPatch != "" {
		apply = "git apply -v - <<'" + endOfPatch + "'\n" + c.testPatch + endOfPatch + "\n"
	}
	return "#!/bin/bash\nset -uxo pipefail\ncd /testbed\ngit config --global --add safe.directory /testbed\n" + reset + apply +
		": '>>>>> Start Test Output'\n" + command + "\n: '>>>>> End Test Output'\n" + reset
}

// plainName matches names that a shell does not interpret.
var plainName = lazy.Regexp(`^[\w./@+-]+$`)

// oldFiles returns the files whose lines a patch changes or deletes. It leaves out names that a
// shell would interpret: grading itself resets all files of the test patch.
func oldFiles(patch string) []string {
	var names []string
	for _, f := range diff.Read(patch) {
		if name := diff.Trim(f.Old); len(f.Hunks) > 0 && plainName().MatchString(name) {
			names = append(names, name)
		}
	}
	return names
}
