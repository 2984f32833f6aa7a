package report

import (
	"bufio"
	"fmt"
	"math"
	"slices"
	"strings"

	"batch.example/batch/internal/printable"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/vocab"
)

// next is what `batch resume` would do in a directory.
type next struct {
	resumable bool   // it has the manifest of a `batch run`
	talk      string // the command of a conversation, which alone continues it; empty otherwise
	selected  map[string]bool
	base      float64 // --cost-limit-total of the last `batch run`, which `batch resume` repeats; 0 is none
	limit     float64 // that of the last command, which may have changed it
	spent     float64
}

func nextOf(m *manifest.Manifest, spent float64) next {
	n := next{talk: m.Talk(), selected: map[string]bool{}, spent: spent}
	n.resumable = !m.OnlyGraded() && n.talk == ""
	for _, id := range m.Dataset.Instances {
		n.selected[id] = true
	}
	if m.Request != nil {
		n.base = m.Request.CostLimit
	}
	n.limit = m.CostLimit()
	return n
}

// withLimit returns a command that continues the given unfinished instances, with the cost
// limit of the last command where that is not the one that the manifest would set, and
// with a higher one where it was reached.
func (n next) withLimit(command string, unfinished []results.Record) string {
	limit := n.limit
	stopped := slices.ContainsFunc(unfinished, func(r results.Record) bool { return r.Status == vocab.StatusBudgetExceeded })
	if limit > 0 && (stopped || n.spent >= limit) {
		limit = HigherLimit(limit, n.spent)
	}
	if limit == n.base {
		return command
	}
	return fmt.Sprintf("%s --cost-limit-total %v", command, limit)
}

// HigherLimit suggests a cost limit with which a run can continue that has reached its
// limit: twice the limit, or twice what was spent where that is more, in whole cents.
func HigherLimit(limit, spent float64) float64 {
	return math.Ceil(200*max(limit, spent)) / 100
}

// retry returns the command that continues unfinished instances that the last command
// did not select.
func retry(dir string, unfinished []results.Record) string {
	const most = 3 // ids on a line
	command := "batch retry " + word(dir)
	if len(unfinished) <= most {
		for _, r := range unfinished {
			command += " " + word(r.InstanceID)
		}
		return command
	}
	var outcomes []string
	for _, r := range unfinished {
		outcomes = append(outcomes, string(r.Outcome))
	}
	slices.Sort(outcomes)
	return command + " --outcome " + strings.Join(slices.Compact(outcomes), ",")
}

// writeNext names the commands that help next.
func (s Status) writeNext(b *bufio.Writer, records []results.Record) {
	var inside, outside []results.Record
	for _, r := range records {
		switch {
		case r.Outcome.Final():
		case s.next.selected[r.InstanceID]:
			inside = append(inside, r)
		default:
			outside = append(outside, r)
		}
	}
	t := &Table{Left: map[int]bool{1: true}, Plain: true}
	add := func(command, why string) { t.Add("  "+command, why) }
	if s.Owner == "" && s.next.resumable {
		if n := len(inside); n > 0 {
			add(s.next.withLimit("batch resume "+word(s.Dir), inside), "continue with "+printable.Count(n, "unfinished instance", "unfinished instances")+afterCorrection(inside))
		}
		if n := len(outside); n > 0 {
			add(s.next.withLimit(retry(s.Dir, outside), outside), "continue with "+printable.Count(n, "unfinished instance", "unfinished instances")+" of earlier commands"+afterCorrection(outside))
		}
	}
	if s.Owner == "" && s.next.talk != "" && len(inside)+len(outside) > 0 {
		add("batch "+s.next.talk+" ... -o "+word(s.Dir), "continue the conversation, by the command that began it")
	}
	if g := s.Grading; g != nil && s.Owner == "" && g.Graded < g.Predictions {
		add("batch grade "+word(s.Dir), "grade "+printable.Count(g.Predictions-g.Graded, "prediction", "predictions")+" without a verdict")
	}
	if i := slices.IndexFunc(records, func(r results.Record) bool { return !r.Outcome.Final() && r.Attempt > 0 }); i >= 0 {
		add("batch show "+word(s.Dir)+" "+word(records[i].InstanceID), "read what the agent did")
	}
	if len(t.rows) == 0 {
		return
	}
	fmt.Fprintln(b, "\nnext:")
	t.Write(b)
}

// afterCorrection says of unfinished instances that some cannot succeed as they are.
func afterCorrection(unfinished []results.Record) string {
	if slices.ContainsFunc(unfinished, func(r results.Record) bool { return r.Status.NeedsCorrection() }) {
		return ", once corrected"
	}
	return ""
}

// word is a text on one line, as a shell takes it as one word.
func word(text string) string { return printable.ShellWord(OneLine(text, 0)) }
