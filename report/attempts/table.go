package attempts

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"

	"batch.example/batch/internal/printable"
	"batch.example/batch/report"
	"batch.example/batch/report/stats"
	"batch.example/batch/results/scores"
)

// Table evaluates the attempts of one entry. `batch attempts --json` writes it.
type Table struct {
	Entry     string   `json:"entry"`
	Model     string   `json:"model"`
	Attempts  int      `json:"attempts"`
	Paths     []string `json:"paths"`     // of the attempts, in order
	Instances int      `json:"instances"` // for which any attempt was requested
	Counted   int      `json:"counted"`   // instances with at least one verdict

	// LeftOut counts the attempts at an instance that do not count, by reason.
	LeftOut map[scores.Reason]int `json:"left_out"`

	Mean Estimate `json:"mean"` // resolved rate of one attempt: pass@1
	Rows []Row    `json:"rows"` // k = 1 up to Attempts

	Flaky []Flaky `json:"flaky"` // by instance id

	Notes []string `json:"notes,omitempty"` // damaged or missing parts of an attempt
}

// Row is the result for one number of attempts.
type Row struct {
	K         int      `json:"k"`
	Instances int      `json:"instances"`  // with at least k attempts that count
	TooFew    int      `json:"too_few"`    // with at least one attempt that counts, but fewer than k
	PassAtK   Estimate `json:"pass_at_k"`  // at least one of k is resolved
	PassHatK  Estimate `json:"pass_hat_k"` // all of k are resolved
	// Cost is the mean cost of k attempts at one of these instances in US dollars; null if no cost
	// is known.
	Cost      *float64 `json:"cost"`
	CostKnown int      `json:"cost_known"` // instances of which Cost is the mean
}

// Flaky is an instance that some attempts resolve and others do not.
type Flaky struct {
	ID       string `json:"instance_id"`
	Resolved int    `json:"resolved"`
	Attempts int    `json:"attempts"` // that count
}

// New returns the table of an entry.
func New(e scores.Side) Table {
	all := e.Instances()
	t := Table{
		Entry: e.Name, Model: e.Model, Attempts: len(e.Runs), Instances: len(all), LeftOut: map[scores.Reason]int{},
		Paths: []string{}, Rows: []Row{}, Flaky: []Flaky{},
	}
	for _, a := range e.Runs {
		t.Paths = append(t.Paths, a.Path)
		for _, note := range a.Notes {
			t.Notes = append(t.Notes, a.Path+": "+note)
		}
	}
	for _, in := range all {
		if in.Scored > 0 {
			t.Counted++
		}
		if in.Flaky() {
			t.Flaky = append(t.Flaky, Flaky{in.ID, in.Resolved, in.Scored})
		}
		for _, s := range in.Scores {
			if s.Resolved == nil {
				t.LeftOut[s.Left]++
			}
		}
	}
	for k := 1; k <= len(e.Runs); k++ {
		t.Rows = append(t.Rows, newRow(all, k, t.Counted))
	}
	if len(t.Rows) > 0 {
		t.Mean = t.Rows[0].PassAtK
	}
	return t
}

func newRow(all []scores.Instance, k, counted int) Row {
	var some, every, costs []float64
	var repositories []string
	for _, in := range all {
		if in.Scored < k {
			continue
		}
		some = append(some, stats.PassAtK(in.Scored, in.Resolved, k))
		every = append(every, stats.PassHatK(in.Scored, in.Resolved, k))
		repositories = append(repositories, in.Repo)
		var known []float64 // also of attempts that do not count
		for _, s := range in.Scores {
			if s.Cost != nil {
				known = append(known, *s.Cost)
			}
		}
		if one := stats.Mean(known); one != nil {
			costs = append(costs, *one*float64(k))
		}
	}
	return Row{
		K: k, Instances: len(some), TooFew: counted - len(some),
		PassAtK: newEstimate(some, repositories), PassHatK: newEstimate(every, repositories), Cost: stats.Mean(costs), CostKnown: len(costs),
	}
}

const width = 80 // columns of a line of text; tables and ids may pass it

// mostFlaky is the number of flaky instances that the text names.
const mostFlaky = 20

// Write writes the table for a person.
func (t Table) Write(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s at %s\n", report.OneLine(t.Entry, 60), printable.Count(t.Attempts, "attempt", "attempts"), printable.Count(t.Instances, "instance", "instances"))
	t.writeRows(&b)
	t.writeMean(&b)
	t.writeLeftOut(&b)
	t.writeFlaky(&b)
	for _, note := range t.Notes {
		fmt.Fprintln(&b, printable.Words("note: "+printable.Line(note), "  ", width))
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (t Table) writeRows(b *bytes.Buffer) {
	if t.Counted == 0 {
		fmt.Fprintln(b, "\nno attempt has a verdict: `batch grade DIR` grades one")
		return
	}
	table := printable.Numbers()
	table.Add("k", "instances", "pass@k", "95% interval", "SE", "pass^k", "95% interval", "SE", "cost of k")
	for _, r := range t.Rows {
		cost := "-"
		if r.Cost != nil {
			cost = report.Dollars(*r.Cost)
			if r.CostKnown < r.Instances {
				cost += fmt.Sprintf(" (of %d)", r.CostKnown)
			}
		}
		table.Add(fmt.Sprint(r.K), fmt.Sprint(r.Instances), r.PassAtK.rate(), r.PassAtK.interval(), r.PassAtK.error(),
			r.PassHatK.rate(), r.PassHatK.interval(), r.PassHatK.error(), cost)
	}
	fmt.Fprintln(b)
	table.Write(b)
	fmt.Fprintln(b, "\npass@k: one of k attempts resolves the instance; pass^k: all of k do. SE, the\nstandard error in points, and intervals are clustered by repository. The cost is\nof k attempts at one instance, on average.")
	t.Mean.writeScope(b)
}

func (t Table) writeMean(b *bytes.Buffer) {
	if t.Mean.Value == nil {
		return
	}
	fmt.Fprintf(b, "\nmean resolved rate of one attempt: %s", t.Mean.rate())
	if t.Mean.Interval != nil {
		fmt.Fprintf(b, " (95%% interval %s)", t.Mean.interval())
	}
	if t.Mean.SE != nil {
		fmt.Fprintf(b, ", clustered SE %s points", t.Mean.error())
	}
	fmt.Fprintln(b)
}

func (t Table) writeLeftOut(b *bytes.Buffer) {
	if t.Counted < t.Instances {
		fmt.Fprintf(b, "%s no verdict of any attempt, and %s in no rate\n",
			printable.Count(t.Instances-t.Counted, "instance has", "instances have"), map[bool]string{true: "is", false: "are"}[t.Instances-t.Counted == 1])
	}
	var parts []string
	sum := 0
	for _, reason := range scores.Reasons() {
		if n := t.LeftOut[reason]; n > 0 {
			sum += n
			parts = append(parts, fmt.Sprintf("%d %s", n, reason))
		}
	}
	if sum > 0 {
		fmt.Fprintf(b, "%s left out: %s\n", printable.Count(sum, "attempt at an instance is", "attempts at an instance are"), strings.Join(parts, ", "))
	}
	if last := len(t.Rows) - 1; last >= 0 && t.Rows[last].TooFew > 0 {
		fmt.Fprintf(b, "%s fewer than %d attempts that count: left out where k is larger\n",
			printable.Count(t.Rows[last].TooFew, "instance has", "instances have"), t.Attempts)
	}
}

func (t Table) writeFlaky(b *bytes.Buffer) {
	if len(t.Flaky) == 0 {
		return
	}
	var names []string
	for _, f := range t.Flaky[:min(mostFlaky, len(t.Flaky))] {
		names = append(names, fmt.Sprintf("%s (%d of %d)", printable.Line(f.ID), f.Resolved, f.Attempts))
	}
	if more := len(t.Flaky) - mostFlaky; more > 0 {
		names = append(names, fmt.Sprintf("and %d more (see --json)", more))
	}
	fmt.Fprintln(b)
	fmt.Fprintln(b, printable.Wrapped(printable.Count(len(t.Flaky), "flaky instance: ", "flaky instances: "), "  ", names, width))
}

// Estimate is the mean of a rate over instances. Values that cannot be computed are nil.
type Estimate struct {
	Value    *float64        `json:"value"`
	SE       *float64        `json:"se"`               // clustered by repository
	Interval *stats.Interval `json:"ci"`               // 95 %
	Method   stats.Method    `json:"method,omitempty"` // of the interval
}

// newEstimate estimates the mean of values, one per instance and in 0..1. repositories has the
// repository of each value.
func newEstimate(values []float64, repositories []string) Estimate {
	mean, se := stats.ClusteredMean(values, repositories)
	e := Estimate{Value: known(mean), SE: known(se)}
	if len(values) == 0 {
		return e
	}
	if i, method := (stats.Bootstrap{}).Rate(values, repositories); i.Known() {
		e.Interval, e.Method = &i, method
	}
	return e
}

func known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func (e Estimate) rate() string {
	if e.Value == nil {
		return "-"
	}
	return printable.Share(*e.Value) + "%"
}

func (e Estimate) error() string {
	if e.SE == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f", 100**e.SE)
}

func (e Estimate) interval() string {
	if e.Interval == nil {
		return "-"
	}
	return printable.Share(e.Interval.Low) + "-" + printable.Share(e.Interval.High) + "%"
}

// writeScope adds a note if the interval does not generalize to other repositories.
func (e Estimate) writeScope(b *bytes.Buffer) {
	if e.Method == stats.ByInstance {
		fmt.Fprintln(b, printable.Words(fmt.Sprintf("note: with instances of fewer than %d repositories, intervals are of these repositories, not of others like them", stats.Bootstrap{}.Least()), "  ", width))
	}
}
