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

// next describes how to continue a directory.
type next struct {
	resumable bool   // the manifest is from a `batch run`
	talk      string // the command of a conversation, which must be used to continue it; otherwise empty
	selected  map[string]bool
	base      float64 // --cost-limit-total of the last `batch run`, which `batch resume` repeats; 0 is none
	limit     float64 // the last command's limit, which may differ from base
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

// Set is what `batch ctl` left in force in a directory.
type Set struct {
	Budget   *float64 // the cost limit in US dollars, which `batch resume` keeps; 0 is none; nil: not set
	Canceled []string // instances
}

// Under returns the status of a directory where set is in force.
func (s Status) Under(set Set) Status {
	if set.Budget != nil {
		s.next.base, s.next.limit = *set.Budget, *set.Budget
	}
	s.Instances = slices.Clone(s.Instances)
	for i := range s.Instances {
		in := &s.Instances[i]
		if !in.Outcome.Final() && in.Status != vocab.StatusRunning && slices.Contains(set.Canceled, in.InstanceID) {
			in.Canceled, s.canceled = true, append(s.canceled, in.InstanceID)
		}
	}
	s.cover = cover(s.records(), set.Canceled)
	s.Canceled = s.cover.canceled
	return s
}

// canceledHints says of the canceled instances that they are.
func (s Status) canceledHints() map[string]string {
	hints := map[string]string{}
	for _, in := range s.Instances {
		if in.Canceled {
			hints[in.InstanceID] = "it was canceled"
		}
	}
	return hints
}

// withLimit adds a cost limit to a command that continues unfinished instances. It keeps the last
// command's limit if that differs from the manifest's, and raises it if it was reached.
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

// HigherLimit suggests a cost limit for continuing a run that has reached its limit: twice the
// limit, or twice the amount spent if that is more, in whole cents.
func HigherLimit(limit, spent float64) float64 {
	return math.Ceil(200*max(limit, spent)) / 100
}

// retry returns the command that continues unfinished instances that the last command did not
// select.
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

// writeNext names the next useful commands.
func (s Status) writeNext(b *bufio.Writer, records []results.Record) {
	var inside, outside, canceled []results.Record
	for i, r := range records {
		switch {
		case r.Outcome.Final():
		case s.Instances[i].Canceled:
			canceled = append(canceled, r)
		case s.next.selected[r.InstanceID]:
			inside = append(inside, r)
		default:
			outside = append(outside, r)
		}
	}
	var t printable.Table
	add := func(command, why string) { t.Add("  "+command, why) }
	if s.Owner == "" && s.next.resumable {
		if n := len(inside); n > 0 {
			add(s.next.withLimit("batch resume "+word(s.Dir), inside), "continue with "+printable.Count(n, "unfinished instance", "unfinished instances")+afterCorrection(inside))
		}
		if n := len(outside); n > 0 {
			add(s.next.withLimit(retry(s.Dir, outside), outside), "continue with "+printable.Count(n, "unfinished instance", "unfinished instances")+" of earlier commands"+afterCorrection(outside))
		}
	}
	if n := len(canceled); n > 0 && s.Owner == "" && s.next.resumable {
		command := "batch retry " + word(s.Dir)
		for _, r := range canceled {
			command += " " + word(r.InstanceID)
		}
		add(s.next.withLimit(command, canceled), "run "+printable.Count(n, "canceled instance", "canceled instances"))
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
	if t.Empty() {
		return
	}
	fmt.Fprintln(b, "\nnext:")
	t.Write(b)
}

// afterCorrection returns a remark if some unfinished instances cannot succeed without a
// correction.
func afterCorrection(unfinished []results.Record) string {
	if slices.ContainsFunc(unfinished, func(r results.Record) bool { return r.Status.NeedsCorrection() }) {
		return ", once corrected"
	}
	return ""
}

// word returns text on one line, quoted as one word for a shell.
func word(text string) string { return printable.ShellWord(OneLine(text, 0)) }
