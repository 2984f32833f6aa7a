package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"batch.example/batch/internal/printable"
	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

// Status is the state of a run directory. `batch status --json` writes it.
type Status struct {
	Dir                string           `json:"dir"`
	Model              string           `json:"model"`
	Dataset            string           `json:"dataset"`
	Owner              string           `json:"in_use_by,omitempty"` // host, process and time of the running program
	Asked              int              `json:"asked"`               // instances
	Results            int              `json:"with_result"`
	Canceled           int              `json:"canceled"`          // instances without a result that run again only when chosen
	Graded             int              `json:"graded"`            // results with a verdict that counts, without the quarantined ones
	Resolved           int              `json:"resolved"`          // of Graded
	Grading            *Grading         `json:"grading,omitempty"` // nil: nothing is graded
	Attempts           int              `json:"attempts"`
	Cost               float64          `json:"cost"`  // US dollars of the attempts that count
	Spent              float64          `json:"spent"` // US dollars of all attempts ever made, including held amounts
	results.Unanswered                  // of all attempts ever made
	Seconds            results.Phases   `json:"seconds"`
	Outcomes           []OutcomeStatus  `json:"outcomes"`
	Instances          []InstanceStatus `json:"instances,omitempty"`
	Records            []results.Record `json:"records,omitempty"` // of every attempt, without the names of passed tests in their grades
	Notes              []string         `json:"notes,omitempty"`   // damage, leftovers of a crash, or mixed results
	Mixed              *results.Mixed   `json:"mixed,omitempty"`   // nil: the results are of one model with the same settings

	bill       Bill
	canceled   []string // the ids of Canceled
	timed      int      // attempts in Seconds
	next       next
	cover      coverage
	onlyGraded bool // no agent worked there
}

// OutcomeStatus counts the instances with one outcome and exit status.
type OutcomeStatus struct {
	Outcome   vocab.Outcome `json:"outcome"`
	Status    string        `json:"exit_status"`      // as the tables show it: "Submitted (empty)"
	Detail    string        `json:"detail,omitempty"` // for an infrastructure failure, the kind of fault; for other outcomes with several causes, the exit status
	Instances int           `json:"instances"`
	Attempts  int           `json:"attempts"`
	Patches   int           `json:"patches"`
	Salvaged  int           `json:"salvaged"` // patches that are the working tree's diff
	Steps     int           `json:"steps"`
	Cost      float64       `json:"cost"`
}

// InstanceStatus is the record of an instance's attempt that counts.
type InstanceStatus struct {
	results.Record
	Attempts int     `json:"attempts"`
	Spent    float64 `json:"spent"`              // US dollars of all its attempts, including held amounts
	Canceled bool    `json:"canceled,omitempty"` // it has no result, and runs again only when chosen
}

// NewStatus summarizes a directory. An instance without a record is pending and has the exit status
// "not run".
func NewStatus(snap *results.Snapshot) Status {
	records := withoutPassed(snap.Records)
	bill := BillOf(snap)
	s := Status{Dir: snap.Dir, Owner: snap.Owner, Spent: bill.Ever + bill.Held, bill: bill, Unanswered: bill.Unanswered, Records: sorted(records), Notes: snap.Notes, Mixed: results.MixedIn(snap)}
	if m := snap.Manifest; m != nil {
		s.Model, s.Dataset, s.next, s.onlyGraded = m.Model, m.Dataset.Title(), nextOf(m, snap.Spent), m.OnlyGraded()
	}
	if s.Model == "" {
		s.Model = onlyModel(snap.Records)
	}
	attempts, spent := map[string]int{}, map[string]float64{}
	for _, r := range s.Records {
		addPhases(&s.Seconds, r.Time)
		if r.Time.Total > 0 {
			s.timed++
		}
		spent[r.InstanceID] += r.Cost + r.Held
		if r.Attempt > 0 {
			attempts[r.InstanceID]++
		}
	}
	last := results.Latest(records)
	for _, id := range snap.Asked() {
		s.add(InstanceStatus{Record: results.LatestOf(last, id), Attempts: attempts[id], Spent: spent[id]})
	}
	s.cover, s.Grading = cover(s.records(), nil), newGrading(s.records())
	if snap.GradingBegan && s.Grading == nil {
		s.Grading = sumVerdicts(s.records())
	}
	s.Asked, s.Results = s.cover.asked, s.cover.final
	if s.Grading != nil {
		s.Graded, s.Resolved = s.Grading.Graded, s.Grading.Resolved
	}
	slices.SortFunc(s.Outcomes, func(a, b OutcomeStatus) int {
		return cmp.Or(finalFirst(a.Outcome, b.Outcome), b.Instances-a.Instances, cmp.Compare(a.Status, b.Status), cmp.Compare(a.Detail, b.Detail))
	})
	return s
}

// onlyModel returns the model of all records, or "" if there are several.
func onlyModel(records []results.Record) string {
	model := ""
	for i, r := range records {
		if i > 0 && r.Model != model {
			return ""
		}
		model = r.Model
	}
	return model
}

func (s *Status) add(in InstanceStatus) {
	s.Instances = append(s.Instances, in)
	s.Attempts += in.Attempts
	s.Cost += in.Cost
	group := OutcomeStatus{Outcome: in.Outcome, Status: displayStatus(in.Record), Detail: detailOf(in.Record)}
	i := slices.IndexFunc(s.Outcomes, group.same)
	if i < 0 {
		i = len(s.Outcomes)
		s.Outcomes = append(s.Outcomes, group)
	}
	s.Outcomes[i].add(in.Record)
	s.Outcomes[i].Attempts += in.Attempts
}

// add counts an instance by the record of its attempt that counts.
func (o *OutcomeStatus) add(r results.Record) {
	o.Instances++
	o.Steps += r.Steps
	o.Cost += r.Cost
	if r.PatchBytes > 0 && r.Outcome.Final() {
		o.Patches++
		if r.Salvaged {
			o.Salvaged++
		}
	}
}

// same reports whether o counts the same instances as p.
func (o OutcomeStatus) same(p OutcomeStatus) bool {
	return o.Outcome == p.Outcome && o.Status == p.Status && o.Detail == p.Detail
}

// detailOf returns the cause for an outcome that has several possible causes.
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

// finalFirst orders outcomes: results come before unfinished ones.
func finalFirst(a, b vocab.Outcome) int {
	switch {
	case a.Final() == b.Final():
		return 0
	case a.Final():
		return -1
	default:
		return 1
	}
}

// Write writes the status as text: a table by outcome, the number of instances with a result, the
// cost, the verdicts, the time by phase, the instances without a result, and the next commands.
// With each, it adds a line for every attempt.
func (s Status) Write(w io.Writer, each bool) error {
	return buffered(w, func(b *bufio.Writer) {
		s.writeHead(b)
		if each {
			fmt.Fprintln(b)
			attemptTable(s.Records).Write(b)
		}
		if s.onlyGraded {
			s.writeGrading(b, s.records())
			s.writeNext(b, s.records())
			return
		}
		fmt.Fprintln(b)
		s.outcomeTable().Write(b)
		fmt.Fprintln(b)
		records := s.records()
		s.cover.write(b)
		writeCost(b, s.bill, 0)
		writeResumed(b, records)
		writeEngines(b, "engines", records, func(r results.Record) string { return r.Engine })
		s.writeGrading(b, records)
		if s.Seconds.Total > 0 {
			fmt.Fprintln(b)
			s.phaseTable().Write(b)
		}
		writeUnfinished(b, records, s.canceledHints())
		s.writeNext(b, records)
	})
}

func (s Status) writeGrading(b *bufio.Writer, records []results.Record) {
	s.Grading.write(b)
	writeEngines(b, "graded on", records, func(r results.Record) string {
		if r.Grade == nil {
			return ""
		}
		return r.Grade.Engine
	})
}

// title names the directory, the dataset and the model.
func (s Status) title() string {
	return fmt.Sprintf("%s: %s, model %s", OneLine(s.Dir, 0), OneLine(cmp.Or(s.Dataset, "unknown dataset"), 0), OneLine(cmp.Or(s.Model, "unknown"), 0))
}

func (s Status) writeHead(b *bufio.Writer) {
	fmt.Fprintln(b, s.title())
	if s.Owner != "" {
		fmt.Fprintf(b, "in use by %s\n", OneLine(results.OwnerInWords(s.Owner), 0))
	}
	for _, note := range s.Notes {
		writeParagraph(b, note, 3)
	}
}

// writeResumed counts the resumed instances, and names the ones with commands that had another
// output when they ran again, and the ones that a person helped.
func writeResumed(b *bufio.Writer, records []results.Record) {
	resumed, differences := 0, 0
	var other, helped []string
	for _, r := range records {
		if r.Said > 0 {
			helped = append(helped, r.InstanceID)
		}
		if r.Resumed > 0 {
			resumed++
		}
		if r.Differences > 0 {
			differences += r.Differences
			other = append(other, r.InstanceID)
		}
	}
	if len(helped) > 0 {
		writeWords(b, OneLine(fmt.Sprintf("helped by a person: %d, %s", len(helped), strings.Join(helped, " ")), 3*width), "  ")
	}
	if resumed > 0 {
		fmt.Fprintf(b, "continued after an interruption or a failure: %d\n", resumed)
	}
	if differences > 0 {
		text := fmt.Sprintf("commands with a different output when they ran again: %d, in %s", differences, strings.Join(other, " "))
		writeWords(b, OneLine(text, 3*width), "  ")
	}
}

// writeEngines counts the instances by an engine of their last attempt, if one is known.
func writeEngines(b *bufio.Writer, what string, records []results.Record, of func(results.Record) string) {
	count := map[string]int{}
	for _, r := range records {
		if address := of(r); address != "" {
			count[address]++
		}
	}
	var parts []string
	for _, address := range slices.Sorted(maps.Keys(count)) {
		parts = append(parts, fmt.Sprintf("%s %d", address, count[address]))
	}
	if len(parts) > 0 {
		writeWords(b, OneLine(what+": "+strings.Join(parts, ", "), 3*width), "  ")
	}
}

func (s Status) records() []results.Record {
	list := make([]results.Record, len(s.Instances))
	for i, in := range s.Instances {
		list[i] = in.Record
	}
	return list
}

// outcomeTable leaves out columns without information: attempts if each instance has one, salvaged
// if no patch is.
func (s Status) outcomeTable() *printable.Table {
	total := OutcomeStatus{Status: "total"}
	for _, o := range s.Outcomes {
		total.Instances += o.Instances
		total.Attempts += o.Attempts
		total.Patches += o.Patches
		total.Salvaged += o.Salvaged
		total.Steps += o.Steps
		total.Cost += o.Cost
	}
	attempts, salvaged := total.Attempts > total.Instances, total.Salvaged > 0
	pick := func(instances, count, patches, taken, steps, cost string) []string {
		cells := []string{instances}
		if attempts {
			cells = append(cells, count)
		}
		cells = append(cells, patches)
		if salvaged {
			cells = append(cells, taken)
		}
		return append(cells, steps, cost)
	}
	t := printable.Numbers(1)
	t.Add(append([]string{"exit status", "outcome"}, pick("instances", "attempts", "patches", "salvaged", "steps", "cost")...)...)
	row := func(o OutcomeStatus) {
		t.Add(append([]string{OneLine(o.Status, 30), OneLine(string(o.Outcome), 20)}, pick(fmt.Sprint(o.Instances), fmt.Sprint(o.Attempts),
			fmt.Sprint(o.Patches), fmt.Sprint(o.Salvaged), fmt.Sprint(o.Steps), Dollars(o.Cost))...)...)
	}
	for _, o := range s.Outcomes {
		row(o)
	}
	t.Rule()
	row(total)
	return t
}

// phaseTable shows the time of all attempts by phase. The wait for a worker comes before an attempt
// and is not in its total.
func (s Status) phaseTable() *printable.Table {
	p := s.Seconds
	t := printable.Numbers()
	each := "per attempt"
	if s.timed < s.Attempts {
		each += fmt.Sprintf(" (of %d)", s.timed)
	}
	t.Add("phase", "time", each, "share")
	line := func(name string, v float64, share string) {
		t.Add(name, Seconds(v), Seconds(v/float64(max(1, s.timed))), share)
	}
	for _, ph := range Parts(p) {
		if ph.Seconds > tiny*p.Total {
			line(ph.Name, ph.Seconds, percent(ph.Seconds, p.Total))
		}
	}
	t.Rule()
	line("total", p.Total, percent(p.Total, p.Total))
	line("queue", p.Queue, "")
	return t
}
