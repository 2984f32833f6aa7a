package report

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"

	"batch.example/batch/internal/printable"
	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

// writePhases says how the time of all attempts was spent, summed over workers. Waiting for a
// worker happens before an attempt and is not in its total.
func writePhases(b *bufio.Writer, d SummaryData, asked []string) {
	var p results.Phases
	for _, r := range d.Records {
		if _, ok := slices.BinarySearch(asked, r.InstanceID); ok {
			addPhases(&p, r.Time)
		}
	}
	if p.Total <= 0 {
		return
	}
	fmt.Fprintln(b, printable.Wrapped(fmt.Sprintf("time %s in attempts: ", Seconds(p.Total)), "  ", phaseTexts(p, tiny), width))
}

// tiny is the share of a total below which a phase is not shown.
const tiny = 0.0005

// phaseTexts returns the phases with at least a share of the total.
func phaseTexts(p results.Phases, least float64) []string {
	var parts []string
	for _, ph := range Parts(p) {
		if ph.Seconds > least*p.Total {
			parts = append(parts, fmt.Sprintf("%s %s (%s)", ph.Name, Seconds(ph.Seconds), percent(ph.Seconds, p.Total)))
		}
	}
	return parts
}

// Phase is one part of an attempt's time.
type Phase struct {
	Name    string
	Seconds float64
}

// Parts returns the parts of a total in chronological order; waits are separate from the model's
// time. They add up to the total, unless the total is smaller than their sum.
func Parts(p results.Phases) []Phase {
	list := []Phase{
		{"pull", p.Pull},
		{"start", p.Start},
		{"prepare", prepare(p)},
		{"replay", p.Replay},
		{"model", p.Model - p.RateWait - p.Backoff},
		{"rate limit", p.RateWait},
		{"back-off", p.Backoff},
		{"commands", p.Commands},
		{"agent", p.Agent},
		{"save", p.Save},
		{"finish", p.Finish},
	}
	other := p.Total
	for _, ph := range list {
		other -= ph.Seconds
	}
	return append(list, Phase{"other", max(0, other)})
}

// prepare returns the time that an attempt spent on preparation. Versions without this phase
// recorded the wait for the scrub in addition to the phases that add up. In other versions the wait
// is part of Prepare, or was counted as another phase.
func prepare(p results.Phases) float64 { return cmp.Or(p.Prepare, p.ScrubWait) }

func addPhases(sum *results.Phases, p results.Phases) {
	sum.Queue += p.Queue
	sum.Pull += p.Pull
	sum.Start += p.Start
	sum.Prepare += prepare(p)
	sum.Replay += p.Replay
	sum.Backoff += p.Backoff
	sum.Agent += p.Agent
	sum.Finish += p.Finish
	sum.Scrub += p.Scrub
	sum.ScrubWait += p.ScrubWait
	sum.Model += p.Model
	sum.RateWait += p.RateWait
	sum.Commands += p.Commands
	sum.Save += p.Save
	sum.Total += p.Total
}

// writeUnfinished lists instances that began and have no result: first the reason, then what to do.
// Instances that did not begin are only counted: an interrupted run has hundreds of them.
func writeUnfinished(b *bufio.Writer, records []results.Record, hints map[string]string) {
	var open []results.Record
	var stopped []string // reasons why instances were not run
	for _, r := range records {
		if !r.Outcome.Final() && r.Status != vocab.StatusNotRun {
			open = append(open, r)
		}
		if r.Status == vocab.StatusNotRun && r.Error != "" && !slices.Contains(stopped, r.Error) {
			stopped = append(stopped, r.Error)
		}
	}
	for _, why := range stopped {
		fmt.Fprintln(b, "\nnot run:")
		writeParagraph(b, why, 4)
	}
	if len(open) == 0 {
		return
	}
	fmt.Fprintln(b, "\nwithout a result:")
	for _, r := range open {
		fmt.Fprintf(b, "  %s  %s\n", OneLine(r.InstanceID, 60), OneLine(displayStatus(r), 30))
		if reason := reasonOf(r); reason != "" {
			writeParagraph(b, reason, 4)
		}
		if hint := hints[r.InstanceID]; hint != "" {
			writeParagraph(b, "-> "+hint, 4)
		}
	}
}

func reasonOf(r results.Record) string {
	return cmp.Or(r.Error, r.Blame)
}
