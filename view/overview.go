package view

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"batch.example/batch/report"
	"batch.example/batch/report/compare"
	"batch.example/batch/report/stats"
	"batch.example/batch/results"
	"batch.example/batch/results/scores"
	"batch.example/batch/vocab"
)

// overview is the data of the first page: the runs, and a matrix of their instances.
type overview struct {
	Runs   []runRow `json:"runs"`
	Matrix matrix   `json:"matrix"`
	Ask    asked    `json:"-"`
}

// runRow is a row of the table of runs.
type runRow struct {
	Run      string                `json:"run"`
	Sweep    string                `json:"sweep,omitempty"`
	Entry    string                `json:"entry,omitempty"` // entry of a sweep's cell
	Model    string                `json:"model,omitempty"`
	State    string                `json:"state"` // running, complete, incomplete, trajectories or unreadable
	Owner    string                `json:"owner,omitempty"`
	Asked    int                   `json:"instances"`
	Results  int                   `json:"with_result"`
	Running  int                   `json:"running"`
	Graded   int                   `json:"graded"` // instances with a verdict that counts
	Resolved int                   `json:"resolved"`
	Rate     *float64              `json:"rate,omitempty"`
	Interval *stats.Interval       `json:"interval,omitempty"` // interval of the rate, at a level of 0.95
	LeftOut  map[scores.Reason]int `json:"left_out,omitempty"` // number left out of the rate, by reason
	Cost     float64               `json:"cost"`               // as in [report.Status]
	Spent    float64               `json:"spent"`              // as in [report.Status]
	Beyond   string                `json:"beyond_cost,omitempty"`
	Notes    []string              `json:"notes,omitempty"`
}

// rowOf summarizes a run for the table of runs.
func (s *runState) rowOf(e scores.Side) runRow {
	one := compare.NewOne(e, compare.Options{})
	r := runRow{
		Run: s.Name, Sweep: s.Sweep, Entry: s.Entry, Model: e.Model, Asked: len(s.ids), Graded: one.Entry.Scored, LeftOut: one.LeftOut, Notes: s.scores.Notes,
	}
	for _, id := range s.ids {
		last := results.LatestOf(s.last, id)
		if last.Outcome.Final() {
			r.Results++
		}
		if last.Status == vocab.StatusRunning {
			r.Running++
		}
		if resolved := s.scores.At(id).Resolved; resolved != nil && *resolved {
			r.Resolved++
		}
	}
	if r.Graded > 0 {
		r.Rate = &one.Entry.Rate
		if i := one.Entry.Interval; i.Known() {
			r.Interval = &i
		}
	}
	r.State = "complete"
	if r.Results < r.Asked {
		r.State = "incomplete"
	}
	if snap := s.scores.Snapshot; snap != nil {
		bill := report.BillOf(snap)
		r.Cost, r.Spent, r.Beyond, r.Owner = bill.Cost, bill.Ever+bill.Held, bill.Beyond(), snap.Owner
		if snap.Owner != "" {
			r.State = "running"
		}
	}
	return r
}

// asked has the choices in the matrix's address.
type asked struct {
	Runs    []string // the columns; empty: all
	Text    string   // selects instances whose ids contain it
	Repo    string
	State   string // selects instances with this class in a column, see cell.Class
	Differ  bool   // selects instances on which the columns disagree
	Sort    string // differ, id, cost, time or steps
	ByRepo  bool   // the rows are grouped
	Sorts   []choice
	States  []choice
	Repos   []choice
	Columns []choice
}

// choice is an option of a form.
type choice struct {
	Value, Label string
	Chosen       bool
}

// sorts are the orders of the matrix, the default first.
var sorts = []choice{{"differ", "disagreements first", false}, {"id", "instance", false}, {"cost", "cost, highest first", false}, {"time", "time, longest first", false}, {"steps", "steps, most first", false}}

// states are the filters of the matrix by state.
var states = []choice{{"", "any", false}, {"resolved", "resolved", false}, {"unresolved", "not resolved", false}, {"left", "left out", false}, {"running", "running", false}}

func newAsked(q url.Values) asked {
	return asked{
		Runs: q["run"], Text: strings.TrimSpace(q.Get("q")), Repo: q.Get("repo"), State: q.Get("state"),
		Differ: q.Has("differ"), Sort: cmp.Or(q.Get("sort"), "differ"), ByRepo: q.Get("group") == "repo",
	}
}

// Report returns the address of the report of the columns.
func (a asked) Report() string {
	return (&url.URL{Path: "/report", RawQuery: url.Values{"run": a.Runs}.Encode()}).String()
}

// fill adds the options of the form.
func (a *asked) fill(all []*runState, repos map[string]int) {
	chosen := func(list []choice, value string) []choice {
		list = slices.Clone(list)
		for i := range list {
			list[i].Chosen = list[i].Value == value
		}
		return list
	}
	a.Sorts, a.States = chosen(sorts, a.Sort), chosen(states, a.State)
	list := []choice{{"", "all", false}}
	for _, repo := range slices.Sorted(maps.Keys(repos)) {
		list = append(list, choice{repo, repo, false})
	}
	a.Repos = chosen(list, a.Repo)
	for _, s := range all {
		a.Columns = append(a.Columns, choice{s.Name, s.Name, len(a.Runs) == 0 || slices.Contains(a.Runs, s.Name)})
	}
}

// overview answers the first page.
func (s *Server) overview(w http.ResponseWriter, r *http.Request) {
	all, err := s.runStates()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	d := overview{Ask: newAsked(r.URL.Query())}
	var columns []*runState
	for _, st := range all {
		row, err := hidden(st.mask, st.row)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		d.Runs = append(d.Runs, row)
		if len(d.Ask.Runs) == 0 || slices.Contains(d.Ask.Runs, st.Name) {
			columns = append(columns, st)
		}
	}
	d.Matrix = newMatrix(columns, &d.Ask)
	d.Ask.fill(all, d.Matrix.repos)
	s.show(w, r, "overview", "Runs", d)
}

// runStates returns the states of all runs, in order.
func (s *Server) runStates() ([]*runState, error) {
	runs, err := s.runs.all()
	if err != nil {
		return nil, err
	}
	list := make([]*runState, len(runs))
	var reads errgroup.Group
	reads.SetLimit(runtime.GOMAXPROCS(0))
	for i, r := range runs {
		reads.Go(func() error { list[i] = r.read(); return nil })
	}
	_ = reads.Wait() // no error: a state says why its run cannot be read
	return list, nil
}
