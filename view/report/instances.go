package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"batch.example/batch/internal/printable"
	"batch.example/batch/report"
	"batch.example/batch/results"
	"batch.example/batch/results/scores"
	"batch.example/batch/vocab"
)

// filter is the form of the table of instances.
type filter struct {
	Choices []template.HTML // the signs of the entries; none if there are too many
	Several bool
}

// States of an entry on an instance, by which the script filters, and their classes in the style sheet.
const (
	stateResolved   = "r"
	statePart       = "p" // in some attempts
	stateUnresolved = "u"
	stateLeft       = "x"
)

var classes = map[string]string{stateResolved: "resolved", statePart: "", stateUnresolved: "unresolved", stateLeft: "left"}

const mostChoices = 12 // entries with their own filter

// instances is the table of all instances.
func (s study) instances() *section {
	part := &section{ID: "instances", Name: "Instances", Filter: &filter{Several: s.several()}}
	repos := slices.ContainsFunc(s.ids, func(id string) bool { return s.repos[id] != "" })
	t := &table{Label: "All instances", Class: "instances", Heads: []cell{{Text: "Instance", Sort: "t"}}}
	if repos {
		t.Heads = append(t.Heads, cell{Class: "repo", Text: "Repository", Sort: "t"})
	}
	if len(s.entries) > 1 {
		t.Heads = append(t.Heads, cell{Class: "n", Text: "Resolved by", Sort: "n"})
	}
	t.Before = len(t.Heads)
	for _, e := range s.entries {
		t.Groups = append(t.Groups, e.cell())
		of := " of " + e.Letter
		t.Heads = append(t.Heads, cell{Class: "first", Text: "Verdict", Hidden: of, Sort: "n"})
		for _, name := range []string{"Steps", "Cost", "Time"} {
			t.Heads = append(t.Heads, cell{Class: "n", Text: name, Hidden: of, Sort: "n"})
		}
		if len(s.entries) <= mostChoices {
			part.Filter.Choices = append(part.Filter.Choices, e.sign())
		}
	}
	for _, id := range s.ids {
		t.Rows = append(t.Rows, s.row(id, repos))
	}
	part.Table = t
	part.Notes = []string{"✓ resolved, ✗ not resolved, – left out, with the reason. A verdict links to its trajectory."}
	if part.Filter.Several {
		part.Notes[0] += " With several attempts: how many resolved it of those with a verdict, each attempt with its link, and the means of its known steps, costs and times."
	}
	return part
}

func (s study) row(id string, repos bool) row {
	r := row{Cells: []cell{{Name: s.text(id, 0)}}}
	if repos {
		r.Cells = append(r.Cells, cell{Class: "repo", Name: s.repo(s.repos[id])})
	}
	by := 0.0
	for _, e := range s.entries {
		rate, _ := e.cells[id].rate()
		by += rate
	}
	if len(s.entries) > 1 {
		r.Cells = append(r.Cells, number(mean(math.Round(10*by)/10)))
	}
	for _, e := range s.entries {
		c := e.cells[id]
		r.States += stateOf(c)
		r.Cells = append(
			r.Cells, s.verdictOf(e, id), number(optional(c.steps, mean)),
			cell{Class: "n", Text: optional(c.cost, printable.Dollars), Value: sortable(c.cost)},
			cell{Class: "n", Text: optional(c.seconds, report.Seconds), Value: sortable(c.seconds)},
		)
	}
	return r
}

func stateOf(c result) string {
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

// verdictOf is an entry's verdict on an instance, or with several attempts those of all.
func (s study) verdictOf(e side, id string) cell {
	c := e.cells[id]
	v := cell{Class: strings.TrimSpace("first " + classes[stateOf(c)])}
	if r, ok := c.rate(); ok {
		v.Value = sortable(&r)
	}
	if len(e.Runs) == 1 {
		r := results.LatestOf(e.last[0], id)
		sign, word := verdict(c.scores[0], r)
		v.Text, v.Link = sign+" "+word, s.link(e, 0, id)
		if r.Outcome.Final() && r.Status != vocab.StatusSubmitted && r.Status != vocab.StatusUnknown {
			v.Small = s.text(string(r.Status), shortText)
		}
		return v
	}
	v.Text = fmt.Sprintf("%d/%d", c.resolved, c.graded)
	if c.graded == 0 {
		v.Text = "–"
	}
	for i, score := range c.scores {
		if score.Left != scores.Missing {
			sign, word := verdict(score, results.LatestOf(e.last[i], id))
			v.Links = append(v.Links, link{sign, fmt.Sprintf("attempt %d: %s", i+1, word), s.link(e, i, id)})
		}
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
