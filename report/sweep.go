package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"batch.example/batch/internal/printable"
	"batch.example/batch/results"
	"batch.example/batch/results/sweeps"
)

// Sweep is the state of a sweep's folder. `batch status --json` writes it.
type Sweep struct {
	Dir                string      `json:"dir"`
	Instances          int         `json:"instances"`   // requested for all cells together
	Results            int         `json:"with_result"` // of Instances
	Spent              float64     `json:"spent"`       // US dollars of all attempts ever made, including held amounts
	results.Unanswered             // of all attempts ever made
	Cells              []SweepCell `json:"cells"`
}

// SweepCell is one cell of a sweep. Status is nil if it has not begun.
type SweepCell struct {
	sweeps.Cell
	Status *Status `json:"status"` // without its instances and records
}

// NewSweepCell summarizes a cell where set is in force; snap is nil if it has not begun.
func NewSweepCell(cell sweeps.Cell, snap *results.Snapshot, set Set) SweepCell {
	c := SweepCell{Cell: cell}
	if snap != nil {
		s := NewStatus(snap).Under(set)
		s.Instances, s.Records = nil, nil
		c.Status = &s
	}
	return c
}

// NewSweep summarizes the cells of a sweep.
func NewSweep(dir string, cells []SweepCell) Sweep {
	s := Sweep{Dir: dir, Cells: cells}
	for _, c := range cells {
		if c.Status != nil {
			s.Instances += c.Status.Asked
			s.Results += c.Status.Results
			s.Spent += c.Status.Spent
			s.Lost += c.Status.Lost
			s.Unpriced += c.Status.Unpriced
			s.Held += c.Status.Held
		}
	}
	return s
}

// Write writes a table of the cells.
func (s Sweep) Write(w io.Writer) error {
	return buffered(w, func(b *bufio.Writer) {
		fmt.Fprintf(b, "%s: %s\n", OneLine(s.Dir, 0), printable.Count(len(s.Cells), "cell", "cells"))
		if s.Spent > 0 || s.Unpriced > 0 {
			fmt.Fprintf(b, "cost %s with all attempts ever made%s\n", Dollars(s.Spent-s.Held), upTo(s.Spent-s.Held, s.Unanswered))
		}
		fmt.Fprintln(b)
		t := printable.Numbers()
		t.Add("cell", "with result", "resolved", "steps", "cost", "state")
		for _, c := range s.Cells {
			t.Add(c.row()...)
		}
		t.Write(b)
		s.writeNotes(b)
		s.writeNext(b)
	})
}

// writeNotes writes what the cells' notes say, such as that the last run was killed, each once.
func (s Sweep) writeNotes(b *bufio.Writer) {
	var said []string
	for _, c := range s.Cells {
		if c.Status == nil {
			continue
		}
		for _, note := range c.Status.Notes {
			if !slices.Contains(said, note) {
				said = append(said, note)
			}
		}
	}
	writeFirst(b, "\n"+printable.Count(len(said), "note on the cells", "notes on the cells"), said)
}

// writeNext names the commands that continue a sweep that nothing works on.
func (s Sweep) writeNext(b *bufio.Writer) {
	left, begun := 0, true
	var canceled []string
	for _, c := range s.Cells {
		switch {
		case c.Status == nil:
			begun = false
			continue
		case c.Status.Owner != "":
			return
		}
		left += c.Status.Asked - c.Status.Results - c.Status.Canceled
		for _, id := range c.Status.canceled {
			canceled = append(canceled, word(c.Folder+"/"+id))
		}
	}
	var t printable.Table
	switch {
	case left > 0:
		t.Add("  batch resume "+word(s.Dir), "continue with "+printable.Count(left, "unfinished instance", "unfinished instances"))
	case !begun:
		t.Add("  batch resume "+word(s.Dir), "begin the other cells")
	}
	if len(canceled) > 0 {
		t.Add("  batch retry "+word(s.Dir)+" "+strings.Join(canceled, " "), "run "+printable.Count(len(canceled), "canceled instance", "canceled instances"))
	}
	if !t.Empty() {
		fmt.Fprintln(b, "\nnext:")
		t.Write(b)
	}
}

func (c SweepCell) row() []string {
	name := OneLine(c.Folder, 50)
	if c.Status == nil {
		return []string{name, "", "", "", "", "not begun"}
	}
	st, steps := c.Status, 0
	for _, o := range st.Outcomes {
		steps += o.Steps
	}
	resolved := ""
	if st.Graded > 0 {
		resolved = fmt.Sprintf("%d of %d (%s%%)", st.Resolved, st.Graded, printable.Share(float64(st.Resolved)/float64(st.Graded)))
	}
	return []string{name, fmt.Sprintf("%d of %d", st.Results, st.Asked), resolved, fmt.Sprint(steps), Dollars(st.Cost), c.state()}
}

// state says what remains to be done in a cell that has begun.
func (c SweepCell) state() string {
	left := c.Status.Asked - c.Status.Results - c.Status.Canceled
	canceled := ""
	if n := c.Status.Canceled; n > 0 {
		canceled = fmt.Sprintf(", %d canceled", n)
	}
	switch {
	case c.Status.Owner != "":
		return "running"
	case left > 0:
		return fmt.Sprintf("%d left%s", left, canceled)
	case c.Status.Grading != nil && c.Status.Graded < c.Status.Asked-c.Status.Canceled-len(c.Status.Grading.Quarantined):
		return "finished" + canceled + ", not all graded"
	}
	return "finished" + canceled
}
