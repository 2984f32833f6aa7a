package page

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"batch.example/batch/internal/printable"
	"batch.example/batch/results"
	"batch.example/batch/results/scores"
	"batch.example/batch/vocab"
)

// tableView is the table of all instances.
type tableView struct {
	Entries []side
	Choices bool // there is a filter for each entry
	Several bool
	Repos   bool // there is a column for the repository
	By      bool // there is a column for the number of entries
	Rows    []instanceRow
	Note    string
}

type instanceRow struct {
	ID, Repo string
	By       string // how many entries resolved it
	States   string // a letter for each entry; the script filters by it
	Cells    []cellView
}

// cellView is an entry's result at one instance. The script sorts by the values if they differ from
// the displayed text.
type cellView struct {
	Class, Value       string
	Text, Link, Ending string
	Attempts           []attemptView // if there are several
	Steps              string
	Cost, CostValue    string
	Time, TimeValue    string
}

type attemptView struct{ Text, Title, Link string }

// States of an entry on an instance.
const (
	stateResolved   = "r"
	statePart       = "p" // in some attempts
	stateUnresolved = "u"
	stateLeft       = "x"
)

const mostChoices = 12 // entries with their own filter

func (s study) table() tableView {
	v := tableView{
		Entries: s.entries, Choices: len(s.entries) <= mostChoices, Several: s.several(), By: len(s.entries) > 1,
		Repos: slices.ContainsFunc(s.ids, func(id string) bool { return s.repos[id] != noRepo }),
		Note:  "✓ resolved, ✗ not resolved, – left out, with the reason. A verdict links to its trajectory.",
	}
	if v.Several {
		v.Note += " With several attempts: how many resolved it of those with a verdict, each attempt with its link, and the means of its known steps, costs and times."
	}
	for _, id := range s.ids {
		v.Rows = append(v.Rows, s.row(id))
	}
	return v
}

func (s study) row(id string) instanceRow {
	row := instanceRow{ID: plain(id), Repo: cut(s.repos[id], 80)}
	by := 0.0
	for _, e := range s.entries {
		c := s.cell(e, id)
		row.Cells = append(row.Cells, c)
		row.States += stateOf(e.cells[id])
		r, _ := e.cells[id].rate()
		by += r
	}
	row.By = number(math.Round(10*by) / 10)
	return row
}

func stateOf(c cell) string {
	switch {
	case c.graded == 0:
		return stateLeft
	case c.resolved == c.graded:
		return stateResolved
	case c.resolved == 0:
		return stateUnresolved
	default:
		return statePart
	}
}

func (s study) cell(e side, id string) cellView {
	c := e.cells[id]
	v := cellView{
		Class: stateOf(c), Steps: optional(c.steps, number), Cost: optional(c.cost, printable.Dollars), Time: optional(c.seconds, duration),
		CostValue: sortable(c.cost), TimeValue: sortable(c.seconds),
	}
	if r, ok := c.rate(); ok {
		v.Value = sortable(&r)
	}
	if len(e.Runs) != 1 {
		v.Text = fmt.Sprintf("%d/%d", c.resolved, c.graded)
		if c.graded == 0 {
			v.Text = "–"
		}
		for i, score := range c.scores {
			if score.Left == scores.Missing {
				continue
			}
			sign, word := verdict(score, results.LatestOf(e.last[i], id))
			v.Attempts = append(v.Attempts, attemptView{sign, fmt.Sprintf("attempt %d: %s", i+1, word), s.link(e, i, id)})
		}
		return v
	}
	r := results.LatestOf(e.last[0], id)
	sign, word := verdict(c.scores[0], r)
	v.Text, v.Link = sign+" "+word, s.link(e, 0, id)
	if r.Outcome.Final() && r.Status != vocab.StatusSubmitted && r.Status != vocab.StatusUnknown {
		v.Ending = cut(string(r.Status), 40)
	}
	return v
}

// verdict returns a sign and a word for the result of an attempt.
func verdict(score scores.Score, r results.Record) (sign, word string) {
	switch {
	case score.Resolved == nil:
		return "–", string(score.Left)
	case *score.Resolved:
		return "✓", vocab.VerdictResolved.String()
	case r.Grade != nil:
		return "✗", strings.TrimPrefix(r.Grade.Verdict.String(), "patch ")
	default:
		return "✗", vocab.VerdictUnresolved.String()
	}
}

// sortable formats a value for sorting; "" if unknown.
func sortable(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', 5, 64)
}
