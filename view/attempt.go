package view

import (
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/trajectory"
	"batch.example/batch/vocab"
)

// perPage is the number of steps on a page.
const perPage = 50

// attemptPage is the data of a page of a trajectory.
type attemptPage struct {
	Run      string               `json:"run"`
	Instance string               `json:"instance_id"`
	Attempt  int                  `json:"attempt"`
	Record   *results.Record      `json:"record,omitempty"` // record of the attempt that counts
	Overview *trajectory.Overview `json:"overview"`
	From     int                  `json:"from"`
	To       int                  `json:"to"`
	Steps    []stepView           `json:"steps"`
	Prompts  []trajectory.Message `json:"prompts,omitempty"`
	End      *trajectory.End      `json:"end,omitempty"`
	Problems []journal.Problem    `json:"problems,omitempty"`

	Task  int       `json:"-"` // index of the prompt that is open; -1: none
	Bar   *bar      `json:"-"`
	Jumps []jump    `json:"-"`
	Pages []pageOf  `json:"-"`
	Prev  string    `json:"-"`
	Next  string    `json:"-"`
	Live  string    `json:"-"` // address of the events of a running attempt
	Steer *steering `json:"-"` // nil: no forms
	tabs
}

// tabs are the links of the pages about one attempt.
type tabs struct {
	Here     string       `json:"-"` // steps, patch, tests or audit
	Base     string       `json:"-"` // address of the attempt's page
	Query    template.URL `json:"-"` // the attempt, in an address; a string would be escaped as one value
	Attempts []attempts   `json:"-"`
	Unmasked bool         `json:"-"` // shows a warning on the page
}

type attempts struct {
	Number int
	Link   string
	Here   bool
}

// stepView is a step, with the messages that the model received if they differ from the recorded actions.
type stepView struct {
	trajectory.Step
	Link  string             `json:"link"`
	Exact string             `json:"exact"` // address of its outputs, without the action
	At    string             `json:"-"`     // time since the attempt's beginning
	Sent  []trajectory.Shown `json:"sent,omitempty"`
	Names []string           `json:"-"` // names of its flags
}

// jump is a kind of steps, with links to the first of them.
type jump struct {
	Name  string
	Count int
	Steps []stepLink
	More  int
}

type stepLink struct {
	Number int
	Link   string
}

type pageOf struct {
	From, To int
	Link     string
	Here     bool
}

// jumps are the kinds of steps with links.
var jumps = []struct {
	flag journal.Flags
	name string
}{
	{journal.FlagFailed, "errors"},
	{journal.FlagTimedOut, "timeouts"},
	{journal.FlagOOM, "out of memory"},
	{journal.FlagFormatError, "format errors"},
	{journal.FlagEdit, "edits"},
	{journal.FlagWords, "a person's words"},
	{journal.FlagRewritten, "context shortened"},
	{journal.FlagDiffers, "differences"},
	{journal.FlagSubmission, "submission"},
}

// mostJumps is the maximum number of listed steps of a kind.
const mostJumps = 15

// attempt answers with a page of a trajectory.
func (s *Server) attempt(w http.ResponseWriter, r *http.Request) {
	o, err := s.open(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	d := attemptPage{Run: o.run.Name, Instance: o.id, Attempt: o.view.Attempt, Record: o.record(), Overview: o.view, tabs: o.tabs("steps")}
	total := len(o.view.Marks)
	d.From = pageWith(r.URL.Query(), total)
	d.To = min(total, d.From+perPage-1)
	if r.URL.Query().Has("all") {
		d.From, d.To = 1, total
	}
	page, err := o.attempt.Page(d.From, d.To, trajectory.Options{})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	d.Prompts, d.End, d.Problems = page.Prompts, page.End, append(o.view.Problems, page.Problems...)
	d.Task = -1
	if !r.URL.Query().Has("step") { // who comes for a step knows the task
		d.Task = slices.IndexFunc(d.Prompts, func(m trajectory.Message) bool { return m.Role == "user" })
	}
	for _, st := range page.Steps {
		d.Steps = append(d.Steps, o.step(st))
	}
	var unanswered results.Unanswered
	if d.Record != nil {
		unanswered = d.Record.Unanswered
	}
	d.Bar, d.Jumps = newBar(o.view.Marks, unanswered), o.jumps()
	if d.From > 1 || d.To < total {
		d.turn(total)
	}
	if !o.view.Ended && d.To == total && o.state.row.Owner != "" {
		d.Live = d.Base + "/events?" + o.query().Encode()
	}
	d.Steer = s.steering(o)
	s.show(w, r, "attempt", o.id, d)
}

// pageWith returns the first step of the requested page: the request names any step of it, or the first.
func pageWith(q url.Values, total int) int {
	step, err := strconv.Atoi(q.Get("step"))
	if err != nil || step < 1 {
		step = 1
	}
	if q.Get("step") == "last" || step > total {
		step = max(1, total)
	}
	return (step-1)/perPage*perPage + 1
}

// turn adds the links to the other pages.
func (d *attemptPage) turn(total int) {
	link := func(from int) string { return fmt.Sprintf("%s?%sstep=%d", d.Base, d.Query, from) }
	for from := 1; from <= total; from += perPage {
		d.Pages = append(d.Pages, pageOf{from, min(total, from+perPage-1), link(from), from == d.From})
	}
	if d.From > 1 {
		d.Prev = link(d.From - perPage)
	}
	if d.To < total {
		d.Next = link(d.From + perPage)
	}
}

// opened is the attempt that a request names.
type opened struct {
	run     *run
	state   *runState
	id      string
	number  int // requested number; -1: the last attempt
	attempt *trajectory.Attempt
	view    *trajectory.Overview
	mask    *mask.Masker
}

// open returns the attempt in the address of a request.
func (s *Server) open(r *http.Request) (*opened, error) {
	o := &opened{id: r.PathValue("id"), number: -1}
	var err error
	if text := r.URL.Query().Get("attempt"); text != "" {
		if o.number, err = strconv.Atoi(text); err != nil || o.number < 0 {
			return nil, fault.Newf(fault.Usage, "attempt %q: expected a number", text)
		}
	}
	return o, s.openIn(o, r.PathValue("run"))
}

// openIn opens an attempt at an instance of a run. Only an instance of the run can be opened, so that no
// address leads out of its directory.
func (s *Server) openIn(o *opened, name string) (err error) {
	if o.run, err = s.runs.named(name); err != nil {
		return err
	}
	o.state = o.run.read()
	o.mask = o.state.mask
	if vocab.CheckID(o.id) != nil || !slices.Contains(o.state.ids, o.id) {
		return fault.Newf(fault.Usage, "%s has no instance %q", name, o.id)
	}
	o.attempt, err = s.cache.Attempt(trajectory.Source{Dir: o.run.Dir, Instance: o.id, Attempt: o.number}, o.mask)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fault.New(fault.Usage, o.id+" in "+name, o.missing())
	case err != nil:
		return fault.New(fault.KindOf(err), "reading "+o.id+" in "+name, err)
	}
	o.view, err = o.attempt.Overview()
	return err
}

// missing says in a few words why an attempt has no page.
type missing string

// Error implements error.
func (m missing) Error() string { return string(m) }

func (o *opened) missing() missing {
	switch {
	case o.number >= 0:
		return missing(fmt.Sprintf("no attempt %d", o.number))
	case results.LatestOf(o.state.last, o.id).Status == vocab.StatusNotRun && o.state.scores.Snapshot != nil:
		return "not run yet"
	}
	return "no trajectory"
}

// record returns the outcome of the attempt; nil if it is unknown, or belongs to another attempt.
func (o *opened) record() *results.Record {
	if snap := o.state.scores.Snapshot; snap != nil {
		for i := range snap.Records {
			if rec := snap.Records[i]; rec.InstanceID == o.id && rec.Attempt == o.view.Attempt {
				if rec, err := hidden(o.mask, rec); err == nil {
					return &rec
				}
				return nil
			}
		}
	}
	return nil
}

func (o *opened) query() url.Values {
	q := url.Values{}
	if o.number >= 0 {
		q.Set("attempt", strconv.Itoa(o.number))
	}
	return q
}

func (o *opened) tabs(here string) tabs {
	t := tabs{Here: here, Base: attemptLink(o.run.Name, o.id), Unmasked: o.view.Unmasked}
	if q := o.query().Encode(); q != "" {
		t.Query = template.URL(q + "&")
	}
	for _, a := range o.view.Attempts {
		t.Attempts = append(t.Attempts, attempts{a.Number, fmt.Sprintf("%s?attempt=%d", t.Base, a.Number), a.Number == o.view.Attempt})
	}
	return t
}

// link returns the address of a step, which does not depend on the number of steps per page.
func (o *opened) link(step int) string {
	return stepLinkOf(o.run.Name, o.id, o.view.Attempt, step)
}

func stepLinkOf(run, id string, attempt, step int) string {
	q := url.Values{}
	if attempt > 0 {
		q.Set("attempt", strconv.Itoa(attempt))
	}
	q.Set("step", strconv.Itoa(step))
	return fmt.Sprintf("%s?%s#step-%d", attemptLink(run, id), q.Encode(), step)
}

func (o *opened) step(st trajectory.Step) stepView {
	q := url.Values{"step": {strconv.Itoa(st.Number)}}
	if o.view.Attempt > 0 {
		q.Set("attempt", strconv.Itoa(o.view.Attempt))
	}
	v := stepView{Step: st, Link: o.link(st.Number), Exact: attemptLink(o.run.Name, o.id) + "/output?" + q.Encode()}
	for _, name := range st.Flags.Names() {
		v.Names = append(v.Names, strings.ReplaceAll(name, "_", " "))
	}
	if !st.Asked.IsZero() && !o.view.Began.IsZero() {
		v.At = st.Asked.Sub(o.view.Began).Round(time.Second).String()
	}
	sent, err := o.attempt.Sent(st.Number)
	if err != nil { // the step is shown without it
		return v
	}
	for _, shown := range sent.Shown {
		if shown.Cut || shown.Differs {
			v.Sent = append(v.Sent, shown)
		}
	}
	return v
}

func (o *opened) jumps() (list []jump) {
	for _, kind := range jumps {
		j := jump{Name: kind.name}
		for _, m := range o.view.Marks {
			if !m.Flags.Has(kind.flag) {
				continue
			}
			if j.Count++; j.Count <= mostJumps {
				j.Steps = append(j.Steps, stepLink{m.Number, o.link(m.Number)})
			}
		}
		if j.More = j.Count - len(j.Steps); j.Count > 0 {
			list = append(list, j)
		}
	}
	return list
}
