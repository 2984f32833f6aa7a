package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/grade/family"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/near"
	"batch.example/batch/internal/printable"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/results/grades"
	"batch.example/batch/run"
	"batch.example/batch/vocab"
)

// checkMachine grades the gold and the empty patch of the selected instances, and names the
// broken ones.
func (s *gradeSession) checkMachine(ctx context.Context) error {
	if n := s.unfilled(); n > 0 && n == len(s.selected) {
		return fault.Newf(fault.Usage, "no selected row names a test that decides").WithHint("`%s` finds the tests", s.fillCommand())
	}
	found := map[string][]string{} // id -> the problems
	installs := map[string]bool{}  // instances with scripts that failed to install something
	complete, all := true, 0
	for _, word := range []string{wordGold, wordEmpty} {
		s.what.word = word
		made := s.made(word)
		if n := len(s.selected) - len(made); n > 0 {
			s.tell(fmt.Sprintf("%s no solution/solve.sh, and only the run without one is checked", printable.Count(n, "task has", "tasks have")))
		}
		if len(made) == 0 {
			continue
		}
		r, err := s.request(filepath.Join(s.flags.Output, word), made)
		if err != nil {
			return err
		}
		r.RunEmpty = true
		if s.flags.dryRun {
			if err := s.dryRun(ctx, r); err != nil {
				return err
			}
			continue
		}
		d, err := s.grade(ctx, r)
		if err != nil && !errors.Is(err, errIncomplete) {
			return err
		}
		complete = complete && err == nil
		_, list, err := d.Whole() // also what an earlier check found about other instances
		if err != nil {
			return err
		}
		all = 0
		for _, g := range list {
			if g.FailedInstall != "" {
				installs[g.InstanceID] = true
			}
			if g.Verdict != "" {
				all++
			}
			if why := broken(word, g); why != "" {
				found[g.InstanceID] = append(found[g.InstanceID], why)
			}
		}
	}
	if s.flags.dryRun {
		return nil
	}
	if err := s.writeBroken(found, all); err != nil {
		return err
	}
	if n := s.unfilled(); n > 0 {
		s.tell(fmt.Sprintf("%s no test that decides: `%s` finds the tests, unless it has said why it cannot",
			printable.Count(n, "row names", "rows name"), s.fillCommand()))
	}
	if n := len(installs); n > 0 {
		s.tell(fmt.Sprintf("an install of the eval script failed for %s: what patches change in compiled code or in dependencies is not built on this machine",
			printable.Count(n, "instance", "instances")))
	}
	if len(found) > 0 || !complete {
		return errIncomplete
	}
	return nil
}

// unfilled returns how many of the selected rows name no test, although it could be found.
func (s *gradeSession) unfilled() int {
	n := 0
	for _, in := range s.selected {
		if _, err := family.Find(in, s.flags.tests.Options); errors.Is(err, family.ErrNoTests) && in.Patch != "" {
			n++
		}
	}
	return n
}

// fillCommand finds the tests of the rows.
func (s *gradeSession) fillCommand() string {
	return s.again("batch dataset fill " + printable.ShellWord(s.flags.Subset))
}

// oneCommand are the flags of one command alone, which do not say what is tested and where.
var oneCommand = []string{
	"output", "repeat", "redo", "dry-run", "no-cache", "quarantine", "run-id", "check", "subset", "quiet", "json", "workers", "retry",
}

// again is a command with the other flags of this one, except some.
func (s *gradeSession) again(command string, except ...string) string {
	return s.flags.added(command, func(name string) bool {
		return !slices.Contains(oneCommand, name) && !slices.Contains(except, name)
	})
}

// broken says why a grade of a word shows that its instance cannot be graded here.
func broken(word string, g grades.Grade) string {
	switch {
	case g.Unstable:
		var verdicts []string
		for _, v := range g.Verdicts {
			verdicts = append(verdicts, v.String())
		}
		return fmt.Sprintf("unstable with %s: %s", word, strings.Join(verdicts, ", "))
	case word == wordEmpty && g.Verdict == vocab.VerdictResolved:
		return "resolved without a patch"
	case word == wordGold && g.Verdict.Counts() && g.Verdict != vocab.VerdictResolved:
		return fmt.Sprintf("gold is not resolved: %s: %s", g.Verdict, g.Why)
	case g.Verdict == vocab.VerdictUngradeable && word == wordGold:
		return fmt.Sprintf("%s: %s", g.Verdict, g.Why)
	case g.Blame == fault.Instance.String() && word == wordGold: // its row or its image
		return "cannot be tested: " + g.Error
	}
	return ""
}

// writeBroken writes the list for --quarantine and shows it. All is how many instances were
// checked, in this command or before.
func (s *gradeSession) writeBroken(found map[string][]string, all int) error {
	var ids []string
	for id := range found {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	var text strings.Builder
	fmt.Fprintf(&text, "# Instances that are broken on this machine, found by batch grade --check.\n")
	for _, id := range ids {
		fmt.Fprintf(&text, "%s # %s\n", id, printable.Line(strings.Join(found[id], "; ")))
	}
	path := filepath.Join(s.flags.Output, grades.QuarantineFile)
	err := atomicfile.Files{}.Write(path, 0o644, atomicfile.Bytes([]byte(text.String())))
	if err != nil {
		return atomicfile.Fault("writing "+grades.QuarantineFile, err)
	}
	out := s.resultOut(s.flags.json)
	if len(ids) == 0 {
		_, err = fmt.Fprintf(out, "\nno instance is broken on this machine, of %d\n", all)
		return writing(err)
	}
	fmt.Fprintf(out, "\n%s on this machine, of %d:\n", printable.Count(len(ids), "instance is broken", "instances are broken"), all)
	for _, id := range ids {
		fmt.Fprintf(out, "  %s  %s\n", id, printable.Line(strings.Join(found[id], "; ")))
	}
	_, err = fmt.Fprintf(out, "\nto leave them out of all rates: `batch grade DIR --quarantine %s`\n", printable.ShellWord(path))
	return writing(err)
}

func writing(err error) error {
	if ignoreClosed(err) == nil {
		return nil
	}
	return fault.New(fault.Host, "writing the list of broken instances", err)
}

// check refuses predictions of instances that the dataset does not have.
func (s *gradeSession) check(file swebench.Predictions) error {
	ids := make([]string, len(s.ds.Instances))
	for i, in := range s.ds.Instances {
		ids[i] = in.ID
	}
	return checkInstances(file, run.Title(s.ds), ids)
}

// checkInstances refuses predictions for instances that are not among ids, the instances of
// dataset. The usage fault names the first such prediction and the most similar id.
func checkInstances(file swebench.Predictions, dataset string, ids []string) error {
	known := make(map[string]bool, len(ids))
	for _, id := range ids {
		known[id] = true
	}
	var unknown []swebench.Prediction
	for _, p := range file.List {
		if !known[p.InstanceID] {
			unknown = append(unknown, p)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	first := unknown[0]
	place := file.Name
	if first.Where != "" {
		place += ": " + first.Where
	}
	err := fault.Newf(fault.Usage, "reading predictions: %s: %q is not an instance of %s (as %d of %s)", place,
		printable.Line(first.InstanceID), dataset, len(unknown), printable.Count(len(file.List), "prediction", "predictions"))
	return err.WithHint("%s", near.Hint(near.Name(first.InstanceID, ids), "name the predictions' dataset with --subset and --split"))
}
