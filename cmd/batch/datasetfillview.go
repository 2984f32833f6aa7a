package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/printable"
	"batch.example/batch/internal/swebench"
)

// The files that fill writes into its directory.
const (
	filledName = "rows.jsonl"
	flakyName  = "flaky.txt"
	sumName    = "rows.sha256" // of filledName, by which a change of it is noticed
)

// writeFilled writes the rows that name tests, and the tests that were left out. A row that was not tested now keeps an earlier fill's result.
func (s *gradeSession) writeFilled(rows []*filling, earlier map[string]dataset.Instance) error {
	known := map[string]dataset.Instance{}
	maps.Copy(known, earlier)
	tested := map[string]bool{}
	var left bytes.Buffer
	for _, row := range rows {
		if _, has := earlier[row.in.ID]; has && row.untested {
			continue
		}
		tested[row.in.ID] = true
		known[row.in.ID] = row.in
		if row.err == nil {
			known[row.in.ID] = row.in.WithTests(row.lists.FailToPass, row.lists.PassToPass)
		}
		writeLeft(&left, row)
	}
	old, err := os.ReadFile(filepath.Join(s.flags.Output, flakyName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Host, "reading "+flakyName, err)
	}
	for line := range bytes.Lines(old) {
		if id, _, _ := strings.Cut(string(line), "\t"); !tested[id] && known[id].ID != "" {
			left.Write(line)
		}
	}
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	enc.SetEscapeHTML(false)
	for _, in := range s.ds.Instances {
		if other, ok := known[in.ID]; ok {
			in = other
		}
		if len(in.FailToPass)+len(in.PassToPass) == 0 {
			continue // it cannot be graded, and would be refused with all others
		}
		if err := enc.Encode(in.Row()); err != nil {
			return fault.New(fault.Host, "writing "+filledName, err)
		}
	}
	sums, err := os.ReadFile(filepath.Join(s.flags.Output, sumName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Host, "reading "+sumName, err)
	}
	sum := fmt.Appendf(nil, "%s  %s\n", sumOf(lines.Bytes()), filledName)
	for _, file := range []struct {
		name string
		text []byte
	}{
		{flakyName, left.Bytes()},
		{sumName, append(sums, sum...)},
		{filledName, lines.Bytes()},
		{sumName, sum}, // a crash leaves rows of one of the sums
	} {
		err := atomicfile.Files{}.Write(filepath.Join(s.flags.Output, file.name), 0o644, atomicfile.Bytes(file.text))
		if err != nil {
			return atomicfile.Fault("writing "+file.name, err)
		}
	}
	return nil
}

// writeLeft writes a line for each test that is in neither list of a row.
func writeLeft(w io.Writer, row *filling) {
	line := func(test, why string) { fmt.Fprintf(w, "%s\t%s\t%s\n", row.in.ID, printable.Line(test), why) }
	for _, f := range row.lists.Flaky {
		line(f.Test, fmt.Sprintf("flaky: passed %d times before, %d times after", f.Before, f.After))
	}
	for _, test := range row.lists.Ambiguous {
		line(test, "ambiguous: the name of a test that fails and of one that passes")
	}
	for _, test := range row.lists.Broken {
		line(test, "broken: passes before, fails after")
	}
}

// showFilled prints the results, and chooses how the command ends.
func (s *gradeSession) showFilled(rows []*filling) error {
	out := s.resultOut(s.flags.json)
	err := writeFilling(out, rows)
	filled := 0
	for _, row := range rows {
		if row.err == nil {
			filled++
		}
	}
	path := filepath.Join(s.flags.Output, filledName)
	fmt.Fprintf(out, "\nfilled %d of %s: %s\n", filled, printable.Count(len(rows), "row", "rows"), path)
	if filled > 0 {
		fmt.Fprintf(out, "now check them: `%s`\n", s.again("batch grade --check --subset "+printable.ShellWord(path), selectionFlags...))
	}
	if ignoreClosed(err) != nil {
		return fault.New(fault.Host, "writing what was found", err)
	}
	if filled < len(rows) {
		return errIncomplete
	}
	return nil
}

// writeFilling writes a table of the rows, and below it the rows that need attention.
func writeFilling(out io.Writer, rows []*filling) error {
	var t printable.Table
	t.Row("INSTANCE", "FAIL_TO_PASS", "PASS_TO_PASS", "FLAKY", "NOTE")
	for _, row := range rows {
		if row.err != nil {
			t.Row(row.in.ID, "-", "-", "-", "not filled")
			continue
		}
		t.Row(row.in.ID, len(row.lists.FailToPass), len(row.lists.PassToPass), len(row.lists.Flaky), note(row))
	}
	if err := t.Write(out); err != nil {
		return err
	}
	for _, row := range rows {
		if row.err != nil {
			fmt.Fprintf(out, "\nnot filled: %s\n", strings.ReplaceAll(strings.TrimSpace(row.err.Error()+"\n"+fault.HintOf(row.err)), "\n", "\n  "))
			if n := len(row.logs); n > 0 {
				fmt.Fprintf(out, "  test log: %s\n", filepath.Join(row.logs[n-1].folder, swebench.OutputName))
			}
		}
		var flaky []string
		for _, f := range row.lists.Flaky {
			flaky = append(flaky, f.Test)
		}
		for _, left := range []struct {
			what  string
			names []string
		}{{"flaky in ", flaky}, {"names of several tests in ", row.lists.Ambiguous}, {"broken by the gold patch of ", row.lists.Broken}} {
			if len(left.names) > 0 {
				fmt.Fprintf(out, "\n%s%s: %s\n", left.what, row.in.ID, printable.Line(some(left.names)))
			}
		}
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
