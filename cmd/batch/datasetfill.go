package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/grade"
	"batch.example/batch/grade/family"
	"batch.example/batch/grade/fill"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/run"
	"batch.example/batch/run/grading"
	"batch.example/batch/vocab"
)

func (a *app) datasetFillCommand() *cobra.Command {
	f := newGradeFlags()
	f.tests.Options.Unfilled = true
	c := &cobra.Command{
		Use:   "fill ROWS [INSTANCE...]",
		Short: "Find the tests that decide, by running them",
		Long: `Run the tests of each row before and after its gold patch, several times each,
and write the dataset with FAIL_TO_PASS and PASS_TO_PASS filled in. ROWS is a
file or what else --subset takes; it is not changed. INSTANCE arguments narrow
the selection.

FAIL_TO_PASS gets the tests that fail or are missing each time before and pass
each time after. PASS_TO_PASS gets the tests that pass each time. A test that
passes only sometimes is flaky: it is left out and named. A row needs a gold
patch, an eval_script and a log_parser (batch help row), or --eval-script and
--parser. Containers are as for batch grade.

  batch dataset fill rows.jsonl -c config.yaml
  batch dataset fill rows.jsonl -c config.yaml --repeat 5 -o runs/fill
  batch grade --check --subset runs/fill/rows.jsonl -c config.yaml

OUT/rows.jsonl has the rows that name tests, which can be graded: of the rows
that were not selected or could not be filled, those that named some.
OUT/flaky.txt has the tests that were left out; OUT/before and OUT/after have
the test logs. Run the same command again to continue an interrupted one, or
after you built an image again: what has not changed since it was tested is not
tested again.

Exit codes: 0 every selected row was filled, 1 it could not continue, 2 usage,
3 some rows were not, 4 the directory is in use, 130 interrupted.`,
		RunE: func(c *cobra.Command, args []string) error {
			f.own, f.Subset, f.Named = c.Flags(), args[0], args[1:]
			if err := f.check(); err != nil {
				return err
			}
			return a.fillRows(c.Context(), f)
		},
	}
	fs := c.Flags()
	fs.StringVarP(&f.Output, "output", "o", "", "directory for the filled rows and the test logs (default: runs/fill-ROWS)")
	fs.IntVar(&f.tests.Repeat, "repeat", 3, "how often the tests run before, and after")
	fs.BoolVar(&f.tests.Redo, "redo", false, "also test what was tested")
	f.addTesting(fs)
	inSection(fs, "Testing")
	addSelection(fs, &f.Request)
	f.addTests(fs)
	addPrefix(fs, &f.Request)
	addImages(fs, &f.Request)
	f.addOutput(fs)
	return c
}

// filling is a row with its results.
type filling struct {
	in    dataset.Instance
	task  *family.Task
	logs  []logOf
	lists fill.Lists
	err   error // the reason if it is not filled

	untested bool // the row is not the reason: an earlier fill's result still holds
}

// logOf is the folder with the log of one test run.
type logOf struct {
	side
	folder string
}

// fillRows runs `batch dataset fill`.
func (a *app) fillRows(ctx context.Context, f gradeFlags) error {
	s := &gradeSession{app: a, flags: f, started: time.Now()}
	if err := s.open(ctx); err != nil {
		return err
	}
	earlier, err := s.earlier()
	if err != nil {
		return err
	}
	rows, err := s.fillable()
	if err != nil {
		return err
	}
	if err := s.testSide(ctx, rows, before); err != nil {
		return err
	}
	if err := s.testSide(ctx, rows, after); err != nil {
		return err
	}
	if err := s.find(ctx, rows); err != nil {
		return err
	}
	if err := s.writeFilled(rows, earlier); err != nil {
		return err
	}
	return s.showFilled(rows)
}

// earlier returns the rows, by id, that an earlier fill has written into the directory and that
// ROWS still has. It refuses a directory that no fill has made, one with rows that have changed
// since, and ROWS itself.
func (s *gradeSession) earlier() (map[string]dataset.Instance, error) {
	out := s.flags.Output
	refuse := func(format string, args ...any) error {
		return fault.Newf(fault.Usage, format, args...).WithHint("choose another directory with -o")
	}
	names, err := os.ReadDir(out)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(names) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(fault.Usage, "-o", err)
	}
	if _, err := os.Stat(filepath.Join(out, before.name, grades.File)); err != nil {
		return nil, refuse("%s is not empty, and no directory that fill has made", out)
	}
	path := filepath.Join(out, filledName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(fault.Usage, "-o", err)
	}
	if is, err := os.Stat(s.flags.Subset); err == nil {
		if at, err := os.Stat(path); err == nil && os.SameFile(is, at) {
			return nil, refuse("%s would be replaced by its own filled rows", path)
		}
	}
	sums, err := os.ReadFile(filepath.Join(out, sumName))
	if err != nil || !strings.Contains(string(sums), sumOf(text)) {
		return nil, refuse("%s was changed since fill wrote it, and would be replaced", path)
	}
	if len(text) == 0 { // no row was filled
		return nil, nil
	}
	old, err := dataset.Open(context.Background(), dataset.Source{Name: path})
	if err != nil {
		return nil, err
	}
	digests := map[string]string{}
	for _, in := range s.ds.Instances {
		digests[in.ID] = in.WithTests(nil, nil).Digest()
	}
	rows := map[string]dataset.Instance{}
	for _, in := range old.Instances {
		if digests[in.ID] == in.WithTests(nil, nil).Digest() {
			rows[in.ID] = in
		}
	}
	return rows, nil
}

// sumOf is the SHA-256 of the rows in hexadecimal, as sha256sum prints it.
func sumOf(rows []byte) string { return fmt.Sprintf("%x", sha256.Sum256(rows)) }

// fillable returns the selected rows. A row that cannot be tested has the reason; it is an error
// if no row can be tested.
func (s *gradeSession) fillable() ([]*filling, error) {
	var rows []*filling
	can := 0
	for _, in := range s.selected {
		task, err := family.Unlisted(in, s.flags.tests.Options)
		if err == nil {
			can++
		}
		rows = append(rows, &filling{in: in, task: task, err: err})
	}
	switch {
	case len(rows) == 0:
		return nil, fault.Newf(fault.Usage, "no row of %s is selected", run.Title(s.ds))
	case can == 0:
		return nil, fmt.Errorf("no row can be filled: %w", rows[0].err)
	}
	return rows, nil
}

// side is one of the two states of the code in which the tests run. It has a directory of its
// own, named by it.
type side struct{ name, word string }

var (
	before = side{"before", wordEmpty}
	after  = side{"after", wordGold}
)

// testSide runs the tests of all rows that can still be filled, and keeps the logs in them.
func (s *gradeSession) testSide(ctx context.Context, rows []*filling, at side) error {
	s.selected = nil
	for _, row := range rows {
		if row.err == nil {
			s.selected = append(s.selected, row.in.WithTests(nil, nil))
		}
	}
	if len(s.selected) == 0 {
		return nil
	}
	dir := filepath.Join(s.flags.Output, at.name)
	s.what.word = at.word
	predictions := s.made(at.word)
	began := time.Now()
	todo, err := s.runTests(ctx, dir, predictions)
	if err != nil {
		return err
	}
	list, err := grades.Read(dir)
	if err != nil {
		return err
	}
	runs := grades.Executions(list)
	byID := map[string]results.Prediction{}
	for _, p := range predictions {
		byID[p.InstanceID] = p
	}
	for _, row := range rows {
		if row.err == nil {
			set := runs[grading.KeyOf(byID[row.in.ID])]
			if todo[row.in.ID] { // an earlier run may count in place of one that failed now
				set = slices.DeleteFunc(set, func(g grades.Grade) bool { return g.Started.Before(began) })
			}
			row.err = row.take(at, dir, set, s.flags.tests.Repeat)
		}
	}
	return nil
}

// runTests tests predictions in a directory, as `batch grade` does. Todo is true for an instance
// that had to be tested now, and false for one with an earlier test that still holds.
func (s *gradeSession) runTests(ctx context.Context, dir string, predictions []results.Prediction) (todo map[string]bool, err error) {
	r, err := s.request(dir, predictions)
	if err != nil {
		return nil, err
	}
	r.About = nil // rows may change between two commands: each row says itself what is to be tested again
	d, err := grading.Open(ctx, r)
	if err != nil {
		return nil, err
	}
	todo = map[string]bool{}
	for _, p := range d.Plan() {
		todo[p.Instance.ID] = !p.Keep
	}
	if d.Todo() > 0 {
		err = s.session(d).work(ctx, d)
	}
	return todo, s.session(d).conclude(d, err, func(io.Writer) (int, error) { return 0, nil })
}

// take keeps the folders with logs of at least n test runs. An error says why there are fewer.
func (row *filling) take(at side, dir string, runs []grades.Grade, n int) error {
	for _, g := range runs {
		if g.Verdict != vocab.VerdictUnresolved { // a row without tests has no better one
			row.untested = !g.Verdict.Counts()
			return fault.Newf(fault.Instance, "%s: %s its gold patch: %s: %s", row.in.ID, at.name, g.Verdict, cmp.Or(g.Error, g.Why))
		}
		row.logs = append(row.logs, logOf{at, filepath.Join(dir, filepath.FromSlash(g.Log))})
	}
	if len(runs) < n {
		row.untested = true
		return fault.Newf(fault.Instance, "%s: %s its gold patch: the tests ran %d of %d times", row.in.ID, at.name, len(runs), n)
	}
	return nil
}

// find fills the rows by their logs.
func (s *gradeSession) find(ctx context.Context, rows []*filling) error {
	for _, row := range rows {
		if row.err != nil {
			continue
		}
		logs := map[side][]grade.Log{}
		for _, l := range row.logs {
			files, err := swebench.ReadFiles(l.folder)
			if err != nil {
				return err
			}
			logs[l.side] = append(logs[l.side], grade.LogOf(files))
		}
		row.lists, row.err = fill.Find(ctx, row.task, s.flags.tests.Rules, logs[before], logs[after])
		if fault.Canceled(row.err) {
			return errInterrupted
		}
	}
	return nil
}
