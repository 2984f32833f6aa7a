package report

import (
	"html/template"
	"strconv"

	"batch.example/batch/report/compare"
	"batch.example/batch/results/scores"
)

// Data is the input of a page.
type Data struct {
	Entries []scores.Side // with different names

	// Link returns the address of the trajectory at an instance in a run directory, or "" if there
	// is none. Nil: the page has no links.
	Link func(dir, id string) string

	// Hide replaces the secrets in a text. It may be nil.
	Hide func(text string) string

	// Audit has the findings of an audit. Nil: the page says that there was none.
	Audit *Audit
}

// Page is the data of the template "report" of package view. Its JSON is for programs.
type Page struct {
	Title      string              `json:"title"`
	Instances  int                 `json:"instances"`
	Facts      []string            `json:"facts"`
	Warnings   []string            `json:"warnings,omitempty"`
	Findings   []string            `json:"findings,omitempty"`
	Comparison *compare.Comparison `json:"comparison,omitempty"` // of the rates of two or more entries
	Sections   []section           `json:"-"`
}

// section is a part of a page with a head. The page shows its parts in this order.
type section struct {
	ID, Name string
	Class    string
	Lead     []string
	Figures  []figure
	Filter   *filter
	Table    *table
	Notes    []string
	Folds    []fold
}

// figure is charts, one below the other, on one scale.
type figure struct {
	Name    string
	Rows    []chart
	Axis    template.HTML
	Caption string
}

// chart is a drawing, and what it is of.
type chart struct {
	Of      cell
	Drawing template.HTML
}

// fold is a part of a section that is closed at first.
type fold struct {
	Summary cell
	Table   *table
	Lists   []list
}

// list has instances with their trajectories.
type list struct {
	Name cell
	Rows []cell
}

// table is a table of texts and charts.
type table struct {
	Label, Class string
	Groups       []cell // heads above four columns each
	Before       int    // columns before those of the groups
	Heads        []cell
	Rows         []row
}

type row struct {
	States string // a letter for each entry; the script filters by it
	Cells  []cell
}

// cell is a cell of a table, or a line of a text.
type cell struct {
	Class  string
	Mark   template.HTML // a chart, or the sign of an entry
	Name   string        // a text from outside
	Text   string
	Hidden string // for screen readers
	Link   string // of the name or the text
	Links  []link
	Small  string // a second text from outside
	Sort   string // how the script orders the column of this head: t as texts, n as numbers
	Value  string // for the order, if it differs from the text
}

type link struct{ Text, Title, Link string }

func (t *table) add(cells ...cell) { t.Rows = append(t.Rows, row{Cells: cells}) }

// Lead are the heads before those of the groups.
func (t *table) Lead() []cell { return t.Heads[:t.Before] }

// number is a cell that is aligned to the right.
func number(text string) cell { return cell{Class: "n", Text: text} }

// integers are cells that are aligned to the right.
func integers(list []int) []cell {
	cells := make([]cell, len(list))
	for i, n := range list {
		cells[i] = number(strconv.Itoa(n))
	}
	return cells
}

// New makes the page. The same data gives the same page.
func New(d Data) Page {
	s := newStudy(d)
	c := s.compared(d.Entries)
	p := Page{Title: s.title(), Instances: len(s.ids), Facts: s.facts(), Warnings: s.warnings(), Findings: s.findings(c), Comparison: c}
	for _, part := range []*section{
		s.rates(p.Findings), s.pairs(c), s.scatter(), s.phases(), s.repositories(), s.distributions(), s.coverage(),
		s.audit(d.Audit), s.settings(), s.instances(), s.runs(),
	} {
		if part != nil {
			p.Sections = append(p.Sections, *part)
		}
	}
	return p
}
