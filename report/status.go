package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

// Status is how a run directory stands: the content of `batch status --json`.
type Status struct {
	Dir       string           `json:"dir"`
	Model     string           `json:"model"`
	Dataset   string           `json:"dataset"`
	Owner     string           `json:"in_use_by,omitempty"`
	Asked     int              `json:"asked"`
	Results   int              `json:"with_result"`
	Graded    int              `json:"graded"`
	Resolved  int              `json:"resolved"`
	Attempts  int              `json:"attempts"`
	Cost      float64          `json:"cost"`  // US dollars of the attempts that count
	Spent     float64          `json:"spent"` // and of all ever made
	Seconds   results.Phases   `json:"seconds"`
	Outcomes  []OutcomeStatus  `json:"outcomes"`
	Instances []InstanceStatus `json:"instances,omitempty"`
	Records   []results.Record `json:"records,omitempty"` // of every attempt
	Notes     []string         `json:"notes,omitempty"`
}

// OutcomeStatus counts the instances that ended alike.
type OutcomeStatus struct {
	Outcome   vocab.Outcome `json:"outcome"`
	Detail    string        `json:"detail,omitempty"` // whose fault, which limit, why pending
	Instances int           `json:"instances"`
	Attempts  int           `json:"attempts"`
	Patches   int           `json:"patches"`
	Salvaged  int           `json:"salvaged"` // of them, taken from the work tree
	Steps     int           `json:"steps"`
	Cost      float64       `json:"cost"`
}

// InstanceStatus is how one instance stands: its record that counts.
type InstanceStatus struct {
	results.Record
	Attempts int     `json:"attempts"`
	Spent    float64 `json:"spent"` // US dollars of all its attempts
}

// NewStatus sums up a directory. An instance asked for without a record is
// pending, "not run".
func NewStatus(snap *results.Snapshot) Status {
	s := Status{Dir: snap.Dir, Owner: snap.Owner, Spent: snap.Spent, Records: sorted(snap.Records), Notes: snap.Notes}
	if m := snap.Manifest; m != nil {
		s.Model, s.Dataset = m.Model, m.Dataset.Name
		if m.Dataset.Split != "" {
			s.Dataset += " (split " + m.Dataset.Split + ")"
		}
	}
	attempts, spent := map[string]int{}, map[string]float64{}
	for _, r := range s.Records {
		addPhases(&s.Seconds, r.Time)
		spent[r.InstanceID] += r.Cost
		if r.Attempt > 0 {
			attempts[r.InstanceID]++
		}
	}
	last := results.Latest(snap.Records)
	for _, id := range snap.Asked() {
		r, ok := last[id]
		if !ok {
			r = results.Record{InstanceID: id, Status: vocab.StatusNotRun, Outcome: vocab.OutcomePending}
		}
		s.add(InstanceStatus{Record: r, Attempts: attempts[id], Spent: spent[id]})
	}
	slices.SortFunc(s.Outcomes, func(a, b OutcomeStatus) int {
		return cmp.Or(rank(a.Outcome)-rank(b.Outcome), cmp.Compare(a.Detail, b.Detail))
	})
	return s
}

func (s *Status) add(in InstanceStatus) {
	s.Instances = append(s.Instances, in)
	s.Asked++
	s.Attempts += in.Attempts
	s.Cost += in.Cost
	if in.Outcome.Final() {
		s.Results++
		if in.Resolved != nil {
			s.Graded++
		}
		if in.Resolved != nil && *in.Resolved {
			s.Resolved++
		}
	}
	detail := detailOf(in.Record)
	i := slices.IndexFunc(s.Outcomes, func(o OutcomeStatus) bool { return o.Outcome == in.Outcome && o.Detail == detail })
	if i < 0 {
		i = len(s.Outcomes)
		s.Outcomes = append(s.Outcomes, OutcomeStatus{Outcome: in.Outcome, Detail: detail})
	}
	o := &s.Outcomes[i]
	o.Instances++
	o.Attempts += in.Attempts
	o.Steps += in.Steps
	o.Cost += in.Cost
	if in.PatchBytes > 0 && in.Outcome.Final() {
		o.Patches++
		if in.Salvaged {
			o.Salvaged++
		}
	}
}

// detailOf tells endings of one outcome apart where that matters.
func detailOf(r results.Record) string {
	switch r.Outcome {
	case vocab.OutcomeInfrastructure:
		return cmp.Or(r.Blame, string(r.Status))
	case vocab.OutcomeLimit, vocab.OutcomeFailed, vocab.OutcomePending:
		return string(r.Status)
	default:
		return ""
	}
}

var outcomeOrder = []vocab.Outcome{
	vocab.OutcomeSubmitted, vocab.OutcomeEmpty, vocab.OutcomeLimit, vocab.OutcomeFormat, vocab.OutcomeFailed, vocab.OutcomeDiverged, vocab.OutcomeInfrastructure, vocab.OutcomePending,
}

// rank orders outcomes: results first, those of an unknown name last.
func rank(o vocab.Outcome) int {
	if i := slices.Index(outcomeOrder, o); i >= 0 {
		return i
	}
	return len(outcomeOrder)
}

// label is an outcome as a person reads it.
func (o OutcomeStatus) label() string {
	name := string(o.Outcome)
	if o.Outcome == vocab.OutcomeEmpty {
		name = "submitted empty"
	}
	if o.Detail != "" {
		name += " (" + o.Detail + ")"
	}
	return name
}

// Write writes the status as text: a table by outcome, coverage, cost, where
// the time went, and what has no result; with each, also a line for every
// attempt.
func (s Status) Write(w io.Writer, each bool) error {
	return buffered(w, func(b *bufio.Writer) {
		fmt.Fprintf(b, "%s: %s, model %s\n", oneLine(s.Dir, 0), oneLine(cmp.Or(s.Dataset, "unknown dataset"), 0), oneLine(cmp.Or(s.Model, "unknown"), 0))
		if s.Owner != "" {
			fmt.Fprintf(b, "in use by %s\n", oneLine(s.Owner, 0))
		}
		for _, note := range s.Notes {
			writeParagraph(b, note, 2)
		}
		fmt.Fprintln(b)
		if each {
			attemptTable(s.Records).write(b)
			fmt.Fprintln(b)
		}
		s.outcomeTable().write(b)
		fmt.Fprintln(b)
		records := s.records()
		writeCoverage(b, records)
		writeCost(b, SummaryData{Spent: s.Spent}, records)
		writeResumed(b, records)
		if s.Seconds.Total > 0 {
			fmt.Fprintln(b)
			s.phaseTable().write(b)
		}
		writeUnfinished(b, slices.DeleteFunc(records, func(r results.Record) bool { return r.Status == vocab.StatusNotRun }), nil)
	})
}

// writeResumed counts what was resumed after a crash or a stop.
func writeResumed(b *bufio.Writer, records []results.Record) {
	resumed, differences := 0, 0
	var other []string
	for _, r := range records {
		if r.Resumed > 0 {
			resumed++
		}
		if r.Differences > 0 {
			differences += r.Differences
			other = append(other, r.InstanceID)
		}
	}
	if resumed > 0 {
		writeParagraph(b, fmt.Sprintf("resumed after a stop: %d", resumed), 2)
	}
	if differences > 0 {
		writeParagraph(b, fmt.Sprintf("%d commands printed something else when they ran again: %s",
			differences, strings.Join(other, " ")), 2)
	}
}

func (s Status) records() []results.Record {
	list := make([]results.Record, len(s.Instances))
	for i, in := range s.Instances {
		list[i] = in.Record
	}
	return list
}

func (s Status) outcomeTable() *table {
	t := &table{rule: len(s.Outcomes) + 1}
	t.add("outcome", "instances", "attempts", "patches", "salvaged", "steps", "cost")
	total := OutcomeStatus{Outcome: "total"}
	for _, o := range s.Outcomes {
		t.add(o.cells()...)
		total.Instances += o.Instances
		total.Attempts += o.Attempts
		total.Patches += o.Patches
		total.Salvaged += o.Salvaged
		total.Steps += o.Steps
		total.Cost += o.Cost
	}
	t.add(total.cells()...)
	return t
}

func (o OutcomeStatus) cells() []string {
	return []string{
		oneLine(o.label(), 40), fmt.Sprint(o.Instances), fmt.Sprint(o.Attempts), fmt.Sprint(o.Patches),
		fmt.Sprint(o.Salvaged), fmt.Sprint(o.Steps), dollars(o.Cost),
	}
}

// phaseTable says where the time of all attempts went. The wait for a worker
// comes before an attempt and is not in its total.
func (s Status) phaseTable() *table {
	p := s.Seconds
	known := p.Pull + p.Start + p.Model + p.Commands + p.Save
	t := &table{rule: 9}
	t.add("phase", "time", "an attempt", "share")
	line := func(name string, v float64, share string) {
		t.add(name, seconds(v), seconds(v/float64(max(1, s.Attempts))), share)
	}
	line("queue", p.Queue, "")
	for _, ph := range append(phasesOf(p), phase{"other", max(0, p.Total-known)}) {
		line(ph.name, ph.v, percent(ph.v, p.Total))
	}
	line("attempts", p.Total, percent(p.Total, p.Total))
	return t
}
