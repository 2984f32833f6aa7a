package family

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/grade"
	"batch.example/batch/grade/evalscript"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/internal/bash"
	"batch.example/batch/internal/python"
)

// Task says how to grade an instance. It must not be changed.
type Task struct {
	Family     string // "SWE-bench", for people and records
	InstanceID string
	Repo       string
	Version    string
	BaseCommit string // git's name of the commit to which TestFiles are reset, in the container after Setup
	// AtBase says that HEAD must be BaseCommit after Setup, if BaseCommit is the id of a commit.
	// The images of published datasets are as their own harness leaves them.
	AtBase bool
	// Image is the image's name if the family derives it in its own way and the row names none. If
	// it is empty, [dataset.Instance.ImageName] returns the name.
	Image   string
	Workdir string // the repository's folder in the container, absolute
	// Setup is a bash script that must run in Workdir before the patch is applied, and exit with 0.
	// It is empty for most families. A second run has no effect.
	Setup string
	// Script is a bash script that applies the test patch and runs the tests. Their output is
	// between the lines with the markers of SWE-bench (grade.StartMarker("") and
	// grade.EndMarker("")); a single line of the script prints each marker.
	Script string
	// Command is the command that runs the tests, if Script runs them before the markers. Otherwise
	// it is empty.
	Command string
	// TestFiles are the files, relative to Workdir, that must be as in the base commit, or absent
	// as there, for the test patch to apply. The script resets most of them, too.
	TestFiles []string
	Timeout   time.Duration // of the script, in the family's own harness; 0: not known
	Parser    string        // the name of the parser, for people and records
	EvalType  string        // column eval_type; "" if the row does not have it
	Tests     grade.Tests
	Gold      []byte // a patch that resolves the instance; nil if there is none

	parse parser
	rule  rule // nil is SWE-bench's rule
}

// parser reads statuses from a log.
type parser func(ctx context.Context, log string, r logparse.Rules) (logparse.Statuses, []string, error)

// Options are a person's additions to rows.
type Options struct {
	// Workdir is the repository's folder in the container, unless the family has its own.
	// "" is /testbed.
	Workdir string
	// Parser is the path of an executable that reads logs instead of the family's parser.
	Parser string
	// EvalScript is the path of a script that replaces the family's: a file for all instances, or a
	// folder with ID/eval.sh or ID.sh for each.
	EvalScript string
	// RunScripts is the folder run_scripts of SWE-bench Pro's repository.
	RunScripts string
	// LogsOnly says that no tests run, so that a row needs a parser but no script.
	LogsOnly bool
	// Unfilled says that a row need not name the deciding tests, because the run is to find them.
	// Without them, no log resolves it.
	Unfilled bool
}

// ErrNoTests is wrapped by the error of [Find] for a row that could be graded if it named tests.
var ErrNoTests = errors.New("its columns FAIL_TO_PASS and PASS_TO_PASS name no test")

// families is tried in order: a row can have columns of several families.
var families = []struct {
	name  string
	match func(row) bool
	fill  func(row, *Task) error
}{
	{"SWE-bench", isColumns, fillColumns},
	{"SWE-bench Pro", isPro, fillPro},
	{"Multi-SWE-bench", isMultiSWE, fillMultiSWE},
	{"R2E-Gym", isR2E, fillR2E},
	{"SWE-PolyBench", isPolyBench, fillPolyBench},
	{"SWE-bench-Live", isLive, fillLive},
	{"SWE-rebench V2", isRebench2, fillRebench2},
	{"SWE-rebench", isRebench, fillRebench},
	{"SWE-smith", isSmith, fillSmith},
	{"SWE-Gym", isGym, fillGym},
	{"SWE-bench", isDerived, fillDerived},
	{"own", isOwn, fillOwn},
	{"logs", isLogs, fillLogs},
}

// Find returns the task of an instance. Errors are Instance faults that name the missing column or
// option, or Usage faults for options that cannot be used.
func Find(in dataset.Instance, o Options) (*Task, error) {
	r := row{in: in, options: o}
	for _, f := range families {
		if !f.match(r) {
			continue
		}
		t := r.task(f.name)
		if err := f.fill(r, t); err != nil {
			return nil, err
		}
		if unnamed(t.Tests) && !o.Unfilled { // by every rule, any log would resolve it
			return nil, r.fault("%w", ErrNoTests).WithHint("%s", r.hintNoTests())
		}
		return t, r.own(t)
	}
	if r.secret() {
		return nil, r.fault("%w", ErrNoTests).WithHint("%s", r.hintNoTests())
	}
	return nil, r.fault("its columns are of no dataset family that is known").
		WithHint("%s%s", in.Misspelled("eval_script", "log_parser"), bringYourOwn)
}

// secret reports whether a row is of a split that SWE-bench publishes without solutions and tests,
// such as the test split of Multimodal.
func (r row) secret() bool {
	return r.in.Patch == "" && r.in.TestPatch == "" && r.in.EvalScript == "" && r.in.ImageDerived() && evalscript.Known(r.in.Repo)
}

// unnamed reports whether the row has no deciding tests.
func unnamed(t grade.Tests) bool { return len(t.FailToPass)+len(t.PassToPass) == 0 }

// hintNoTests returns advice for a row that names no test.
func (r row) hintNoTests() string {
	switch {
	case r.in.Patch != "":
		return "`batch dataset fill ROWS` finds them: it runs the row's tests before and after its gold patch"
	case r.secret():
		return "this dataset keeps its tests secret: only its owners can grade predictions for it"
	}
	return "such a row can be run, but not graded: give it a gold patch and a test_patch,\n" +
		"and `batch dataset fill ROWS` finds the tests"
}

// Unlisted returns the task of a row for a run that finds the deciding tests. The row need not name
// tests, and the task ignores named ones. It is for running and for reading logs: no log resolves
// it. Rows of a family that does not use the lists FAIL_TO_PASS and PASS_TO_PASS directly, and rows
// without a gold patch, are Instance faults.
func Unlisted(in dataset.Instance, o Options) (*Task, error) {
	o.Unfilled = true
	const any = "any test"
	listed, err := Find(in.WithTests([]string{any}, []string{any}), o)
	if err != nil {
		return nil, err
	}
	t, err := Find(in.WithTests(nil, nil), o)
	if err != nil {
		return nil, err
	}
	r := row{in: in, options: o}
	tests := listed.Tests
	if !slices.Equal(tests.FailToPass, []string{any}) || !slices.Equal(tests.PassToPass, []string{any}) || listed.Script != t.Script {
		return nil, r.fault("which tests decide is not said by FAIL_TO_PASS and PASS_TO_PASS alone for rows of %s", listed.Family)
	}
	if len(listed.Gold) == 0 {
		return nil, r.fault("it has no gold patch, so there is nothing to test after").
			WithHint("%sgive the row its solution in column patch", in.Misspelled("patch"))
	}
	return t, nil
}

const bringYourOwn = "a row is graded by its columns eval_script and log_parser: `batch help row` lists the test runners that\n" +
	"have a parser, and `batch dataset init --repo DIR --test COMMAND --log-parser NAME` writes rows with both.\n" +
	"Without the columns, give a script with `--eval-script FILE`, and with `--parser EXECUTABLE` a program that\n" +
	"reads the log on standard input and prints {\"test name\": \"PASSED\", ...} as JSON"

// task returns a task with the columns that all families share.
func (r row) task(family string) *Task {
	in := r.in
	workdir := r.options.Workdir
	if workdir == "" {
		workdir = testbed
	}
	t := &Task{
		Family:     family,
		InstanceID: in.ID,
		Repo:       in.Repo,
		Version:    in.Version,
		BaseCommit: in.BaseCommit,
		Workdir:    workdir,
		EvalType:   in.EvalType,
		Tests:      grade.Tests{FailToPass: in.FailToPass, PassToPass: in.PassToPass},
	}
	if in.Patch != "" {
		t.Gold = []byte(in.Patch)
	}
	return t
}

// testbed is the repository's folder in the images of SWE-bench and most neighbors.
const testbed = "/testbed"

func (r row) fault(format string, args ...any) *fault.Error {
	return fault.Newf(fault.Instance, "grading "+r.in.ID+": "+format, args...)
}

// script returns a bash script that runs the commands of prepare, and then the tests between the
// markers. It does not trace its commands, so that their text is not read as the result of a test.
func script(prepare, tests []string) string {
	lines := append([]string{"#!/bin/bash", "{ set +ux; } 2> /dev/null", "set +o pipefail"}, prepare...)
	lines = append(lines, "echo "+bash.Quote(grade.StartMarker("")))
	lines = append(lines, tests...)
	return strings.Join(append(lines, "echo "+bash.Quote(grade.EndMarker(""))), "\n") + "\n"
}

// needed follows a command that the tests depend on: if it fails, the script ends, and a log
// without markers is not graded.
const needed = " || exit 1"

// applyCommand returns a command that passes the exact bytes of a diff to `git apply` with options.
// With --recount, an additional empty line at the end would belong to the last hunk.
func applyCommand(options, diff string) string {
	return bash.Print([]byte(diff)) + " | git apply " + options + " -"
}

// untilOneFails returns commands that run in their own shell, which ends at the first failure.
func untilOneFails(commands []string) []string {
	return append(append([]string{"(", "set -e"}, commands...), ")")
}

// row reads columns that package dataset keeps without knowing them.
type row struct {
	in      dataset.Instance
	options Options
}

func (r row) has(columns ...string) bool {
	for _, c := range columns {
		if v, ok := r.in.Fields[c]; !ok || v == nil {
			return false
		}
	}
	return true
}

// text returns a column of text, or "".
func (r row) text(column string) string {
	s, _ := r.in.Fields[column].(string)
	return s
}

// list returns a column that is a list of texts, or a text with such a list in JSON's or Python's
// form. The texts are never trimmed.
func (r row) list(column string) ([]string, error) {
	list, err := listOf(r.in.Fields[column])
	if err != nil {
		return nil, r.fault("column %s: %w", column, err)
	}
	return list, nil
}

// object returns a column that is an object, or a text with an object in JSON, or nil.
func (r row) object(column string) map[string]any {
	m, ok := r.in.Fields[column].(map[string]any)
	if text := r.text(column); !ok && text != "" && json.Unmarshal([]byte(text), &m) != nil {
		return nil
	}
	return m
}

func listOf(v any) ([]string, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case string:
		return python.List(v)
	case []any:
		return textsOf(v)
	default:
		return nil, fmt.Errorf("%T where a list should be", v)
	}
}

// commandsOf is listOf, but a text is one command.
func commandsOf(v any) ([]string, error) {
	if s, ok := v.(string); ok {
		if s == "" {
			return nil, nil
		}
		return []string{s}, nil
	}
	return listOf(v)
}

func textsOf(list []any) ([]string, error) {
	out := make([]string, len(list))
	for i, v := range list {
		s, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("element %d is not text", i+1)
		}
		out[i] = s
	}
	return out, nil
}
