package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/grade"
	"batch.example/batch/grade/family"
	"batch.example/batch/grade/fill"
	"batch.example/batch/grade/official"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/manifest"
	"batch.example/batch/run/grading"
	"batch.example/batch/vocab"
)

func (a *app) datasetFillCommand() *cobra.Command {
	f := gradeFlags{fill: true}
	c := &cobra.Command{
		Use:   "fill ROWS [INSTANCE...]",
		Short: "Find the tests that decide, by running them",
		Long: `Run the tests of each row before and after its gold patch, several times each,
and write the dataset with FAIL_TO_PASS and PASS_TO_PASS filled in. ROWS is a
file or what else --subset takes; it is not changed. INSTANCE arguments narrow
the selection.

FAIL_TO_PASS gets the tests that fail or are missing each time before and pass
each time after, PASS_TO_PASS those that pass each time. A test that passes only
sometimes is flaky: it is left out and named. A row needs a gold patch, and what
grading needs: an eval_script and a log_parser (batch help row), or
--eval-script and --parser. Containers are as for batch grade.

  batch dataset fill rows.jsonl -c config.yaml
  batch dataset fill rows.jsonl -c config.yaml --repeat 5 -o runs/fill
  batch grade --check --subset runs/fill/rows.jsonl -c config.yaml

OUT/rows.jsonl has all rows of ROWS: a row that was not selected or could not be
filled is as it was. OUT/flaky.txt names what was left out; OUT/before and
OUT/after have the test logs. Run the same command again to continue an
interrupted one, or after you built an image again: what has not changed since
it was tested is not tested again.

Exit codes: 0 every selected row was filled, 1 it could not continue, 2 usage,
3 some rows were not, 4 the directory is in use, 130 interrupted.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fault.Newf(fault.Usage, "which rows?").WithHint("name their file: `batch dataset fill rows.jsonl`")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			f.own, f.subset, f.named = c.Flags(), args[0], args[1:]
			if err := f.check(); err != nil {
				return err
			}
			return a.fillRows(c.Context(), f)
		},
	}
	fs := c.Flags()
	fs.StringVarP(&f.output, "output", "o", "", "directory for the filled rows and the test logs (default: runs/fill-ROWS)")
	fs.IntVar(&f.repeat, "repeat", 3, "how often the tests run before, and after")
	fs.BoolVar(&f.redo, "redo", false, "also test what was tested")
	f.addTesting(fs)
	inSection(fs, "Testing")
	f.addSelection(fs)
	f.addTests(c)
	f.addPrefix(fs)
	f.imageFlags.add(c)
	f.addOutput(fs)
	return c
}

// filling is a row with what was found.
type filling struct {
	in    dataset.Instance
	task  *family.Task
	lists fill.Lists
	err   error // why it is not filled
}

// fillRows is `batch dataset fill`.
func (a *app) fillRows(ctx context.Context, f gradeFlags) error {
	s := &gradeSession{app: a, flags: f, started: time.Now()}
	if err := s.open(ctx); err != nil {
		return err
	}
	if _, err := manifest.Read(s.flags.output); !errors.Is(err, fs.ErrNotExist) {
		return fault.Newf(fault.Usage, "%s is the directory of a run", s.flags.output).WithHint("choose another directory with -o")
	}
	rows, err := s.fillable()
	if err != nil {
		return err
	}
	for _, side := range []struct{ dir, word string }{{"before", wordEmpty}, {"after", wordGold}} {
		if err := s.testSide(ctx, side.dir, side.word); err != nil {
			return err
		}
	}
	if err := s.find(ctx, rows); err != nil {
		return err
	}
	if err := s.writeFilled(rows); err != nil {
		return err
	}
	return s.showFilled(rows)
}

// fillable returns the selected rows, and keeps in the selection, without their tests, the rows
// that can be tested. It is an error if none can.
func (s *gradeSession) fillable() ([]*filling, error) {
	var rows []*filling
	var can []dataset.Instance
	for _, in := range s.selected {
		task, err := family.Unlisted(in, s.options())
		if err == nil {
			can = append(can, in.WithTests(nil, nil))
		}
		rows = append(rows, &filling{in: in, task: task, err: err})
	}
	s.selected = can
	switch {
	case len(rows) == 0:
		return nil, fault.Newf(fault.Usage, "no row of %s is selected", titled(s.ds))
	case len(can) == 0:
		return nil, fmt.Errorf("no row can be filled: %w", rows[0].err)
	}
	return rows, nil
}

// testSide runs the tests of all rows that can be tested with the patches that a word stands for.
func (s *gradeSession) testSide(ctx context.Context, name, word string) error {
	s.what.word = word
	r, err := s.request(filepath.Join(s.flags.output, name), s.made(word))
	if err != nil {
		return err
	}
	r.About = nil // rows may change between two commands: each row says itself what is to be tested again
	d, err := grading.Open(ctx, r)
	if err != nil {
		return err
	}
	if d.Todo() > 0 {
		err = s.work(ctx, d)
	}
	if closing := d.Close(); closing != nil {
		err = errors.Join(err, closing)
	}
	if interrupted(err) {
		s.tell("interrupted; continue with the same command")
		return errInterrupted
	}
	return err
}

// find fills the rows by the logs of both sides.
func (s *gradeSession) find(ctx context.Context, rows []*filling) error {
	before, err := readSide(s.flags.output, "before")
	if err != nil {
		return err
	}
	after, err := readSide(s.flags.output, "after")
	if err != nil {
		return err
	}
	s.what.word = wordEmpty
	empty := s.made(wordEmpty)
	gold := s.made(wordGold)
	tested := 0
	for _, row := range rows {
		if row.err != nil {
			continue
		}
		var logs [2][]grade.Log
		logs[0], row.err = before.logs(empty[tested], s.flags.repeat)
		if row.err == nil {
			logs[1], row.err = after.logs(gold[tested], s.flags.repeat)
		}
		tested++
		if row.err == nil {
			row.lists, row.err = fill.Find(ctx, row.task, s.flags.parsed, logs[0], logs[1])
		}
		if fault.Canceled(row.err) {
			return errInterrupted
		}
	}
	return nil
}

// side has the test runs of one directory.
type side struct {
	name, dir string
	runs      map[grades.Prediction][]grades.Grade
}

func readSide(output, name string) (side, error) {
	dir := filepath.Join(output, name)
	list, err := grades.Read(dir)
	return side{name, dir, grades.Executions(list)}, err
}

// logs returns what the tests printed, n times or more. An error says why they did not.
func (s side) logs(p results.Prediction, n int) ([]grade.Log, error) {
	var logs []grade.Log
	set := s.runs[grading.KeyOf(p)]
	for _, g := range set {
		if g.Verdict != vocab.VerdictUnresolved { // a row without tests has no better one
			return nil, fault.Newf(fault.Instance, "%s: %s its gold patch: %s: %s", p.InstanceID, s.name, g.Verdict, cmp.Or(g.Error, g.Why))
		}
		files, err := official.Read(filepath.Join(s.dir, filepath.FromSlash(g.Log)))
		if err != nil {
			return nil, err
		}
		logs = append(logs, files.Log())
	}
	if len(logs) < n {
		return nil, fault.Newf(fault.Instance, "%s: %s its gold patch: the tests ran %d of %d times", p.InstanceID, s.name, len(logs), n)
	}
	return logs, nil
}
