package main

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/grade/fill"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/printable"
)

// The files that fill writes into its directory.
const (
	filledName = "rows.jsonl"
	flakyName  = "flaky.txt"
)

// writeFilled writes the rows and the names of the tests that were left out.
func (s *gradeSession) writeFilled(rows []*filling) error {
	filled := map[string]fill.Lists{}
	var left strings.Builder
	for _, row := range rows {
		if row.err == nil {
			filled[row.in.ID] = row.lists
		}
		for _, f := range row.lists.Flaky {
			fmt.Fprintf(&left, "%s\t%s\tflaky: passed %d times before, %d times after\n", row.in.ID, printable.Line(f.Test), f.Before, f.After)
		}
		for _, test := range row.lists.Broken {
			fmt.Fprintf(&left, "%s\t%s\tbroken: passes before, fails after\n", row.in.ID, printable.Line(test))
		}
	}
	var files atomicfile.Files
	err := files.Write(filepath.Join(s.flags.output, flakyName), 0o644, func(w io.Writer) error {
		_, err := io.WriteString(w, left.String())
		return err
	})
	if err != nil {
		return atomicfile.Fault("writing "+flakyName, err)
	}
	err = files.Write(filepath.Join(s.flags.output, filledName), 0o644, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		for _, in := range s.ds.Instances {
			if l, ok := filled[in.ID]; ok {
				in = in.WithTests(l.FailToPass, l.PassToPass)
			}
			if err := enc.Encode(in.Row()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return atomicfile.Fault("writing "+filledName, err)
	}
	return nil
}

// showFilled prints what was found, and chooses how the command ends.
func (s *gradeSession) showFilled(rows []*filling) error {
	var out io.Writer = s.stdout
	if s.flags.json {
		out = s.stderr
	}
	t := printable.NewTable(out)
	t.Row("INSTANCE", "FAIL_TO_PASS", "PASS_TO_PASS", "FLAKY", "NOTE")
	missing := 0
	for _, row := range rows {
		if row.err != nil {
			missing++
			t.Row(row.in.ID, "-", "-", "-", "not filled")
			continue
		}
		t.Row(row.in.ID, len(row.lists.FailToPass), len(row.lists.PassToPass), len(row.lists.Flaky), note(row))
	}
	if err := t.Flush(); err != nil {
		return ignoreClosed(err)
	}
	for _, row := range rows {
		if row.err != nil {
			fmt.Fprintf(out, "\nnot filled: %s\n", strings.ReplaceAll(strings.TrimSpace(row.err.Error()+"\n"+fault.HintOf(row.err)), "\n", "\n  "))
		}
		var names []string
		for _, f := range row.lists.Flaky {
			names = append(names, printable.Line(f.Test))
		}
		if len(names) > 0 {
			fmt.Fprintf(out, "\nflaky in %s: %s\n", row.in.ID, some(names))
		}
		if len(row.lists.Broken) > 0 {
			fmt.Fprintf(out, "\nbroken by the gold patch of %s: %s\n", row.in.ID, some(row.lists.Broken))
		}
	}
	path := filepath.Join(s.flags.output, filledName)
	check := s.again("batch grade --check --subset " + printable.ShellWord(path))
	_, err := fmt.Fprintf(out, "\nfilled %d of %s: %s\nnow check them: `%s`\n",
		len(rows)-missing, printable.Count(len(rows), "row", "rows"), path, check)
	if ignoreClosed(err) != nil {
		return fault.New(fault.Host, "writing what was found", err)
	}
	if missing > 0 {
		return errIncomplete
	}
	return nil
}

// note says in one line what a person should look at.
func note(row *filling) string {
	var notes []string
	had := len(row.in.FailToPass)+len(row.in.PassToPass) > 0
	if had && !(sameTests(row.in.FailToPass, row.lists.FailToPass) && sameTests(row.in.PassToPass, row.lists.PassToPass)) {
		notes = append(notes, fmt.Sprintf("the row listed others: %d, %d", len(row.in.FailToPass), len(row.in.PassToPass)))
	}
	if n := len(row.lists.Broken); n > 0 {
		notes = append(notes, printable.Count(n, "test is", "tests are")+" broken by the patch")
	}
	if row.lists.Doubt != "" {
		notes = append(notes, "doubtful: "+row.lists.Doubt)
	}
	return strings.Join(notes, "; ")
}

// sameTests reports whether two lists have the same tests in any order.
func sameTests(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}
