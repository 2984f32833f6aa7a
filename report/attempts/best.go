package attempts

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"batch.example/batch/internal/printable"
	"batch.example/batch/report"
	"batch.example/batch/report/stats"
	"batch.example/batch/results/scores"
	"batch.example/batch/results/selections"
)

// Best is the gain of selecting one attempt at each instance, compared with a single attempt and
// with the best possible selection. `batch select --json` writes it.
type Best struct {
	Entry     string `json:"entry"`
	By        string `json:"by"`
	Attempts  int    `json:"attempts"`
	Instances int    `json:"instances"` // for which any attempt was requested
	Selected  int    `json:"selected"`

	Unselected []string       `json:"unselected"` // instances without a selection, sorted
	Decided    map[string]int `json:"decided"`    // selections by their deciding selector

	// Graded is the number of instances in the rates: selected, with a verdict on the chosen patch
	// and on at least one attempt.
	Graded   int `json:"graded"`
	Ungraded int `json:"ungraded"` // selected, without a verdict on the chosen patch

	One    Choice `json:"one_attempt"` // pass@1 over these instances
	Chosen Choice `json:"best_of_n"`
	Any    Choice `json:"oracle"` // at least one attempt is resolved: the upper bound of every selector
}

// Choice is the result of one way to choose an attempt.
type Choice struct {
	Resolved Estimate `json:"resolved"`
	// Cost is the mean total cost per instance in US dollars; null if the cost of any instance is
	// unknown.
	Cost *float64 `json:"cost"`
}

// NewBest compares a selection with its entry. chosen has the scores of the chosen patches.
func NewBest(e scores.Side, by string, list []selections.Selection, chosen scores.Run) Best {
	all := e.Instances()
	b := Best{
		Entry: e.Name, By: by, Attempts: len(e.Runs), Instances: len(all), Selected: len(list),
		Unselected: []string{}, Decided: map[string]int{},
	}
	selected := map[string]selections.Selection{}
	for _, s := range list {
		selected[s.InstanceID] = s
		b.Decided[s.Decided]++
	}
	var one, best, bound, oneCost, allCost []float64
	var repositories []string
	for _, in := range all {
		s, ok := selected[in.ID]
		if !ok {
			b.Unselected = append(b.Unselected, in.ID)
			continue
		}
		score := chosen.At(in.ID)
		if score.Resolved == nil || in.Scored == 0 {
			b.Ungraded++
			continue
		}
		b.Graded++
		repositories = append(repositories, in.Repo)
		one = append(one, in.Rate())
		best = append(best, truth(*score.Resolved))
		bound = append(bound, truth(in.Resolved > 0))
		if s.AttemptsCost != nil {
			oneCost = append(oneCost, *s.AttemptsCost/float64(max(1, made(s))))
			allCost = append(allCost, *s.AttemptsCost)
		}
	}
	choice := func(values, costs []float64) Choice {
		c := Choice{Resolved: newEstimate(values, repositories)}
		if len(costs) == len(values) {
			c.Cost = stats.Mean(costs)
		}
		return c
	}
	b.One, b.Chosen, b.Any = choice(one, oneCost), choice(best, allCost), choice(bound, allCost)
	return b
}

// made returns the number of attempts at the instance that had a cost or ended.
func made(s selections.Selection) (n int) {
	for _, c := range s.Candidates {
		if c.Cost != nil {
			n++
		}
	}
	return n
}

func truth(resolved bool) float64 {
	if resolved {
		return 1
	}
	return 0
}

// mostNamed is the number of instances that the text names.
const mostNamed = 10

// Write writes the comparison for a person.
func (b Best) Write(w io.Writer) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s: %d of %s selected of %s by %s\n", report.OneLine(b.Entry, 60), b.Selected,
		printable.Count(b.Instances, "instance", "instances"), printable.Count(b.Attempts, "attempt", "attempts"), report.OneLine(b.By, 40))
	if b.Graded > 0 {
		b.writeRates(&out)
	}
	if b.Ungraded > 0 {
		fmt.Fprintf(&out, "%s a verdict and in no rate: `batch grade` OUT, then select again\n", printable.Count(b.Ungraded, "chosen patch is without", "chosen patches are without"))
	}
	if len(b.Unselected) > 0 {
		fmt.Fprintln(&out, printable.Wrapped("without a selection: ", "  ", some(b.Unselected), width))
	}
	_, err := w.Write(out.Bytes())
	return err
}

func (b Best) writeRates(out *bytes.Buffer) {
	t := printable.Numbers()
	t.Add(fmt.Sprintf("of %s", printable.Count(b.Graded, "instance", "instances")), "resolved", "95% interval", "SE", "cost of each")
	for _, row := range []struct {
		name string
		c    Choice
	}{
		{"one attempt (pass@1)", b.One},
		{fmt.Sprintf("best of %d by %s", b.Attempts, report.OneLine(b.By, 40)), b.Chosen},
		{fmt.Sprintf("any of %d (pass@%d, the bound)", b.Attempts, b.Attempts), b.Any},
	} {
		cost := "-"
		if row.c.Cost != nil {
			cost = report.Dollars(*row.c.Cost)
		}
		t.Add(row.name, row.c.Resolved.rate(), row.c.Resolved.interval(), row.c.Resolved.error(), cost)
	}
	fmt.Fprintln(out)
	t.Write(out)
	b.Chosen.Resolved.writeScope(out)
	fmt.Fprintln(out)
}

// some returns the first names of a list in printable form.
func some(names []string) []string {
	list := slices.Clone(names[:min(mostNamed, len(names))])
	for i := range list {
		list[i] = printable.Line(list[i])
	}
	if more := len(names) - mostNamed; more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return list
}
