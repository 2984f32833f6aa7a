package view

import (
	"cmp"
	"slices"
	"strings"

	"batch.example/batch/results"
	"batch.example/batch/results/scores"
	"batch.example/batch/vocab"
)

// matrix is a table of instances and runs.
type matrix struct {
	Columns []string `json:"runs"`
	Groups  []group  `json:"groups"`
	Shown   int      `json:"shown"` // instances
	All     int      `json:"all"`
	Differ  int      `json:"disagreements"` // disagreements among all instances

	repos map[string]int
}

// group is the rows of one repository, or all rows.
type group struct {
	Repo     string `json:"repo,omitempty"` // empty: all
	Rows     []row  `json:"rows"`
	Resolved []int  `json:"resolved,omitempty"` // number by column
	Graded   []int  `json:"graded,omitempty"`   // number by column
}

// row is an instance.
type row struct {
	Instance string `json:"instance_id"`
	Repo     string `json:"repo,omitempty"`
	Differ   bool   `json:"disagree"` // one column resolved it, and another did not
	Cells    []cell `json:"cells"`    // cells by column

	cost, seconds float64
	steps         int
}

// cell is how one run did at one instance.
type cell struct {
	Run     string   `json:"run"`
	There   bool     `json:"there"` // the cell has a page
	Class   string   `json:"class"` // resolved, unresolved, running or left
	Words   string   `json:"words"` // the verdict, or why there is none
	Status  string   `json:"exit_status,omitempty"`
	Attempt int      `json:"attempt,omitempty"`
	Steps   *int     `json:"steps,omitempty"`
	Cost    *float64 `json:"cost,omitempty"`
	Seconds *float64 `json:"seconds,omitempty"`

	results.Unanswered // beside Cost
}

// newMatrix returns the matrix for the choices in a.
func newMatrix(columns []*runState, a *asked) matrix {
	m := matrix{repos: map[string]int{}}
	index := map[string]int{}
	var rows []row
	for c, st := range columns {
		m.Columns = append(m.Columns, st.Name)
		for _, id := range st.ids {
			i, known := index[id]
			if !known {
				i = len(rows)
				index[id] = i
				rows = append(rows, row{Instance: id, Cells: make([]cell, len(columns))})
			}
			rows[i].set(c, st)
		}
	}
	for i := range rows {
		rows[i].complete(columns)
		m.repos[rows[i].Repo]++
		if rows[i].Differ {
			m.Differ++
		}
	}
	m.All = len(rows)
	rows = slices.DeleteFunc(rows, func(r row) bool { return !a.wants(r) })
	m.Shown = len(rows)
	slices.SortFunc(rows, a.order)
	m.Groups = grouped(rows, len(columns), a.ByRepo)
	return m
}

// set fills in the cell of a column.
func (r *row) set(column int, st *runState) {
	last, score := results.LatestOf(st.last, r.Instance), st.scores.At(r.Instance)
	c := cell{Run: st.Name, Status: string(last.Status), Attempt: last.Attempt, Steps: score.Steps, Cost: score.Cost, Seconds: score.Seconds, Unanswered: last.Unanswered}
	c.There = last.Status != "" && last.Outcome != vocab.OutcomePending || last.Status == vocab.StatusRunning || st.scores.Snapshot == nil
	c.Class, c.Words = classOf(last, score, st.scores.Snapshot == nil)
	r.Cells[column] = c
	r.Repo = cmp.Or(r.Repo, score.Repo, scores.RepoOf(r.Instance))
	if c.Cost != nil {
		r.cost += *c.Cost
	}
	if c.Seconds != nil {
		r.seconds += *c.Seconds
	}
	if c.Steps != nil {
		r.steps += *c.Steps
	}
}

// classOf returns a cell's class and its words.
func classOf(last results.Record, score scores.Score, alone bool) (class, words string) {
	switch {
	case last.Status == vocab.StatusRunning:
		return "running", "running"
	case score.Resolved != nil && *score.Resolved:
		return "resolved", "resolved"
	case score.Resolved != nil && last.Grade != nil:
		return "unresolved", last.Grade.Verdict.String()
	case score.Resolved != nil:
		return "unresolved", "not resolved"
	case alone:
		return "left", "trajectory"
	case score.Left == scores.NotGraded && last.Status != "":
		return "left", string(last.Status)
	}
	return "left", string(score.Left)
}

// complete fills in the cells of runs without the instance.
func (r *row) complete(columns []*runState) {
	resolved, not := false, false
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Run == "" {
			*c = cell{Run: columns[i].Name, Class: "left", Words: string(scores.Missing)}
		}
		resolved, not = resolved || c.Class == "resolved", not || c.Class == "unresolved"
	}
	r.Differ = resolved && not
}

// wants reports whether a row passes the filters.
func (a *asked) wants(r row) bool {
	if a.Text != "" && !strings.Contains(strings.ToLower(r.Instance), strings.ToLower(a.Text)) {
		return false
	}
	if a.Repo != "" && r.Repo != a.Repo || a.Differ && !r.Differ {
		return false
	}
	return a.State == "" || slices.ContainsFunc(r.Cells, func(c cell) bool { return c.Class == a.State })
}

// order compares two rows in the chosen order; equal rows are ordered by instance.
func (a *asked) order(x, y row) int {
	by := 0
	switch a.Sort {
	case "id":
	case "cost":
		by = cmp.Compare(y.cost, x.cost)
	case "time":
		by = cmp.Compare(y.seconds, x.seconds)
	case "steps":
		by = cmp.Compare(y.steps, x.steps)
	default:
		by = cmp.Compare(first(x.Differ), first(y.Differ))
	}
	return cmp.Or(by, cmp.Compare(x.Instance, y.Instance))
}

func first(yes bool) int {
	if yes {
		return 0
	}
	return 1
}

// grouped returns the rows as one group, or as a group for each repository, in alphabetical order.
func grouped(rows []row, columns int, byRepo bool) []group {
	if !byRepo {
		return []group{{Rows: rows}}
	}
	index := map[string]int{}
	var list []group
	for _, r := range rows {
		i, known := index[r.Repo]
		if !known {
			i = len(list)
			index[r.Repo] = i
			list = append(list, group{Repo: cmp.Or(r.Repo, "other"), Resolved: make([]int, columns), Graded: make([]int, columns)})
		}
		g := &list[i]
		g.Rows = append(g.Rows, r)
		for c, cell := range r.Cells {
			switch cell.Class {
			case "resolved":
				g.Resolved[c]++
				g.Graded[c]++
			case "unresolved":
				g.Graded[c]++
			}
		}
	}
	slices.SortFunc(list, func(a, b group) int { return cmp.Compare(a.Repo, b.Repo) })
	return list
}
