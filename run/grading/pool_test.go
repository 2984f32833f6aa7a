package grading_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/grade/family"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/run/grading"
	"batch.example/batch/runner"
	"batch.example/batch/sandbox"
	"batch.example/batch/vocab"
)

// boxes are containers that print the outputs that a test sets.
type boxes struct {
	mu      sync.Mutex
	opened  int
	closed  int
	image   string                                                 // id; empty: not pulled yet
	head    string                                                 // commit of the image; empty: baseCommit
	script  string                                                 // of the tests of the last box
	network string                                                 // of the last box
	eval    string                                                 // eval.sh of the last box
	reaches bool                                                   // a package index
	fail    func(n int) error                                      // of the nth Open, from 1
	tests   func(n int, in dataset.Instance) (vocab.Output, error) // of the nth box
}

func (b *boxes) Image(context.Context, dataset.Instance) (vocab.Image, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return vocab.Image{Ref: "image", ID: b.image}, b.image != "", nil
}

func (b *boxes) Open(_ context.Context, in dataset.Instance, network string, report func(string)) (grading.Box, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opened++
	b.network = network
	report("start")
	if b.fail != nil {
		if err := b.fail(b.opened); err != nil {
			return nil, err
		}
	}
	if b.image == "" {
		b.image = "sha256:1"
	}
	return &fakeBox{b, b.opened, in}, nil
}

type fakeBox struct {
	*boxes
	n  int
	in dataset.Instance
}

func (f *fakeBox) Facts() sandbox.Facts {
	return sandbox.Facts{Image: vocab.Image{Ref: "image", ID: f.image}}
}

func (f *fakeBox) Reaches(context.Context, string, string) (bool, error) { return f.reaches, nil }

func (f *fakeBox) Write(_ context.Context, name string, _ fs.FileMode, data []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if strings.HasSuffix(name, "/eval.sh") {
		f.eval = string(data)
	}
	return nil
}

// between returns the output of the last box's tests: text between its markers.
func (b *boxes) between(text string) vocab.Output {
	b.mu.Lock()
	defer b.mu.Unlock()
	before, after, _ := strings.Cut(b.eval, "./test\n")
	return vocab.Output{Bytes: []byte(before + text + after)}
}

func (f *fakeBox) Run(_ context.Context, c vocab.Command) (vocab.Output, error) {
	switch {
	case strings.Contains(c.Script, "-printf"): // the list of the working tree
		return vocab.Output{}, nil
	case strings.Contains(c.Script, "gitscrub"): // the commit of the image
		return vocab.Output{Bytes: []byte("base: head " + cmp.Or(f.head, baseCommit) + "\n")}, nil
	case !strings.Contains(c.Script, "eval.sh"):
		return vocab.Output{Bytes: []byte("true\n")}, nil
	}
	f.mu.Lock()
	f.script = c.Script
	f.mu.Unlock()
	return f.tests(f.n, f.in)
}

func (f *fakeBox) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed++
	return nil
}

// desk is a run directory with a pool.
type desk struct {
	*testing.T
	dir    string
	boxes  *boxes
	config grading.Config
	log    *grades.Log
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{T: t, dir: t.TempDir(), boxes: &boxes{}}
	var err error
	if d.log, err = grades.Open(d.dir, grades.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.log.Close() })
	d.config = grading.Config{
		Settings: grading.Settings{RunID: "run"}, Dir: d.dir, Grades: d.log, Boxes: d.boxes,
		Pool: runner.Config{Width: runner.NewWidth(2), Retries: runner.Retries{"transient": 1}},
	}
	return d
}

// find returns a task of one test, with a parser of JSON.
func find(in dataset.Instance) (*family.Task, error) {
	in.EvalScript = ": '>>>>> Start Test Output'\n./test\n: '>>>>> End Test Output'\n"
	in.LogParser, in.EvalType, in.FailToPass = "parse_log_pytest", "pass_and_fail", []string{"test_a"}
	return family.Find(in, family.Options{})
}

const baseCommit = "c0ffee12"

func job(id, patch string) grading.Job {
	in := dataset.Instance{ID: id, Repo: "o/r", BaseCommit: baseCommit}
	task, err := find(in)
	return grading.Job{
		Instance: in, Task: task, Untestable: err,
		Prediction: results.Prediction{InstanceID: id, Model: "m", Text: patch, Patch: []byte(patch)},
	}
}

const patchText = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"

func (d *desk) grade(jobs ...grading.Job) (runner.Summary, error) {
	d.Helper()
	return grading.Run(d.Context(), d.config, runner.NewRoster(jobs))
}

func (d *desk) latest(j grading.Job) grades.Grade {
	return grades.Latest(d.log.All())[grading.KeyOf(j.Prediction)]
}

func TestAnEmptyPatchNeedsNoContainer(t *testing.T) {
	d := newDesk(t)
	j := job("a__1", " \n")
	sum, err := d.grade(j)
	if g := d.latest(j); err != nil || sum.Final != 1 || g.Verdict != vocab.VerdictEmpty || d.boxes.opened != 0 {
		t.Errorf("%+v, %v, %+v, %d containers; want an empty patch, and no container", sum, err, g, d.boxes.opened)
	}
}

func TestAFailureOfTheEngineIsTriedAgainAndNeverCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // there is a wait between the two tries
		d := newDesk(t)
		d.boxes.fail = func(int) error { return fault.New(fault.Transient, "starting", errors.New("engine")) }
		d.config.Pool.Retries = runner.Retries{"transient": 1}
		j := job("a__1", patchText)
		d.config.Pool.OnEvent = func(e vocab.Event) {
			if e.Type == vocab.EventInstanceRetry && e.Wait == 0 {
				t.Error("tried again without a wait")
			}
		}
		sum, err := d.grade(j)
		g := d.latest(j)
		if err != nil || sum.Failed != 1 || g.Verdict != vocab.VerdictInfrastructure || g.Blame != "transient" || len(d.log.All()) != 2 {
			t.Errorf("%+v, %v, %+v; want two records of an infrastructure failure", sum, err, d.log.All())
		}
		if g.Resolved() != nil {
			t.Error("it counts")
		}
	})
}

func TestAPanicEndsOnlyItsPrediction(t *testing.T) {
	d := newDesk(t)
	d.config.Basis = func(in dataset.Instance, _ *family.Task) grades.Basis {
		if in.ID == "a__1" {
			panic("a bug")
		}
		return grades.Basis{}
	}
	d.boxes.tests = func(int, dataset.Instance) (vocab.Output, error) { return vocab.Output{}, nil }
	a, b := job("a__1", patchText), job("b__1", "")
	sum, err := d.grade(a, b)
	if err != nil || sum.Final != 1 || sum.Failed != 1 {
		t.Errorf("%+v, %v; want one of each", sum, err)
	}
	if g := d.latest(a); g.Verdict != vocab.VerdictInfrastructure || g.Blame != "bug" {
		t.Errorf("%+v, want a bug", g)
	}
}

func TestARowWithoutTestsIsUngradeable(t *testing.T) {
	d := newDesk(t)
	j := job("a__1", patchText)
	j.Task, j.Untestable = family.Find(j.Instance, family.Options{})
	sum, err := d.grade(j)
	if g := d.latest(j); err != nil || sum.Failed != 1 || g.Verdict != vocab.VerdictUngradeable || !strings.Contains(g.Why, "--parser") {
		t.Errorf("%+v, %v, %+v; want ungradeable, with what to do", sum, err, g)
	}
}

// A patch that ends the script before the tests, or prints more than is kept, must still count
// in the rate. Failures that also happen without the patch are not its fault.
func TestAPatchCannotMakeItselfUngradeable(t *testing.T) {
	for name, c := range map[string]struct {
		patched vocab.Output
		bare    string // "": as with the patch
		want    vocab.Verdict
	}{
		"no tests":        {vocab.Output{Bytes: []byte("Killed")}, "FAILED test_a\n", vocab.VerdictUnresolved},
		"too much":        {vocab.Output{Bytes: []byte("x"), Total: 1 << 40}, "FAILED test_a\n", vocab.VerdictUnresolved},
		"nothing without": {vocab.Output{Bytes: []byte("Killed")}, "", vocab.VerdictUngradeable},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.boxes.tests = func(n int, _ dataset.Instance) (vocab.Output, error) {
				if n == 1 || c.bare == "" {
					return c.patched, nil
				}
				return d.boxes.between(c.bare), nil
			}
			j := job("a__1", patchText)
			_, err := d.grade(j)
			if g := d.latest(j); err != nil || g.Verdict != c.want || d.boxes.opened != 2 {
				t.Errorf("%d containers, %v, %+v; want %s", d.boxes.opened, err, g, c.want)
			}
		})
	}
}

// Without a package index, tests print another log than with one, even if no line of the log
// reports a failed install.
func TestALogWithoutAnIndexIsNotOneWithIt(t *testing.T) {
	d := newDesk(t)
	d.boxes.image = "sha256:1"
	d.config.Cache = &grading.Cache{Dir: t.TempDir()}
	ran := 0
	d.boxes.tests = func(int, dataset.Instance) (vocab.Output, error) {
		ran++
		if d.boxes.reaches {
			return d.boxes.between("PASSED test_a\n"), nil
		}
		return d.boxes.between("FAILED test_a\n"), nil
	}
	j := job("a__1", patchText)
	j.Task.Setup = "pip install -q x"
	for i, step := range []struct {
		reaches bool
		ran     int
		want    vocab.Verdict
	}{
		{false, 1, vocab.VerdictUnresolved},
		{false, 1, vocab.VerdictUnresolved},
		{true, 2, vocab.VerdictResolved},
		{true, 2, vocab.VerdictResolved},
	} {
		d.boxes.reaches = step.reaches
		_, err := d.grade(j)
		if list := d.log.All(); err != nil || list[len(list)-1].Verdict != step.want || ran != step.ran {
			t.Errorf("%d: %v, %+v after %d test runs; want %s after %d", i, err, list[len(list)-1], ran, step.want, step.ran)
		}
	}
}

func TestNothingCountsAsGradedIfItCannotBeWritten(t *testing.T) {
	d := newDesk(t)
	if err := os.WriteFile(filepath.Join(d.dir, "logs"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d.boxes.tests = func(int, dataset.Instance) (vocab.Output, error) { return vocab.Output{Bytes: []byte("x")}, nil }
	j := job("a__1", patchText)
	sum, err := d.grade(j, job("b__1", patchText))
	if err == nil || sum.Final != 0 {
		t.Errorf("%+v, %v; want a Host fault", sum, err)
	}
	if n := len(d.log.All()); n != 0 {
		t.Errorf("%d grades are recorded, want none", n)
	}
	if d.boxes.opened != d.boxes.closed {
		t.Errorf("%d containers opened, %d closed", d.boxes.opened, d.boxes.closed)
	}
}

// The logs of many executions do not all stay in memory until the last has ended.
func TestTheLogsOfRepeatedExecutionsAreOnDiskAtOnce(t *testing.T) {
	d := newDesk(t)
	d.config.Repeat = 3
	folder := filepath.Join(d.dir, "logs", "run_evaluation", "run", "m", "a__1")
	d.boxes.tests = func(n int, _ dataset.Instance) (vocab.Output, error) {
		if n > 1 {
			if _, err := os.Stat(filepath.Join(folder, fmt.Sprintf("repeat-%d", n-1), "test_output.txt")); err != nil {
				t.Errorf("execution %d has begun: %v", n, err)
			}
		}
		return d.boxes.between(fmt.Sprintf("log %d\n", n)), nil
	}
	j := job("a__1", patchText)
	if _, err := d.grade(j); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"": "log 1", "repeat-1": "log 1", "repeat-2": "log 2", "repeat-3": "log 3"} {
		if got, err := os.ReadFile(filepath.Join(folder, name, "test_output.txt")); err != nil || !strings.Contains(string(got), want+"\n") {
			t.Errorf("%q: %q, %v; want %q", name, got, err, want)
		}
	}
	if list := d.log.All(); len(list) != 3 || filepath.Base(list[2].Log) != "repeat-3" {
		t.Errorf("got %+v, want three grades with their own logs", list)
	}
}

// The report of an earlier attempt is not read as the report of a later one without a
// report.
func TestNoReportOfAnotherPatchStays(t *testing.T) {
	d := newDesk(t)
	d.config.Repeat = 2
	d.boxes.tests = func(int, dataset.Instance) (vocab.Output, error) { return vocab.Output{Bytes: []byte("x")}, nil }
	first, second := job("a__1", patchText), job("a__1", " ")
	first.Prediction.Attempt, second.Prediction.Attempt = 1, 2
	folder := filepath.Join(d.dir, "logs", "run_evaluation", "run", "m", "a__1")
	for _, j := range []grading.Job{first, second, first} {
		if _, err := d.grade(j); err != nil {
			t.Fatal(err)
		}
		_, err := os.Stat(filepath.Join(folder, "repeat-2", "patch.diff"))
		if left := err == nil; left != (j.Prediction.Attempt == 1) {
			t.Errorf("after attempt %d, files of attempt 1: %v", j.Prediction.Attempt, left)
		}
	}
	d.grade(second) //nolint:errcheck // the folder tells
	if _, err := os.Stat(folder); err == nil {
		t.Error("the folder of attempt 1 is left")
	}
}
