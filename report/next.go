package report

import (
	"bufio"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"batch.example/batch/internal/printable"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/vocab"
)

// next is what `batch resume` would do in a directory.
type next struct {
	resumable bool // it has a manifest
	selected  map[string]bool
	limit     float64 // of --cost-limit-total; 0 is none
	spent     float64
}

func nextOf(m *manifest.Manifest, spent float64) next {
	n := next{resumable: true, selected: map[string]bool{}, limit: costLimit(m.Argv), spent: spent}
	for _, id := range m.Dataset.Instances {
		n.selected[id] = true
	}
	if len(m.Runs) > 0 {
		n.limit = max(n.limit, costLimit(m.Runs[len(m.Runs)-1].Argv))
	}
	return n
}

// costLimit returns the last --cost-limit-total of a command, or 0.
func costLimit(argv []string) float64 {
	const flag = "--cost-limit-total"
	limit := 0.0
	for i, arg := range argv {
		value, ok := strings.CutPrefix(arg, flag+"=")
		if !ok && arg == flag && i+1 < len(argv) {
			value, ok = argv[i+1], true
		}
		if v, err := strconv.ParseFloat(value, 64); ok && err == nil {
			limit = v
		}
	}
	return limit
}

// resume returns the command that continues the given unfinished instances of the last
// command, with a higher cost limit where that was reached.
func (n next) resume(dir string, unfinished []results.Record) string {
	command := "batch resume " + word(dir)
	stopped := slices.ContainsFunc(unfinished, func(r results.Record) bool { return r.Status == vocab.StatusBudgetExceeded })
	if n.limit <= 0 || !stopped && n.spent < n.limit {
		return command
	}
	return fmt.Sprintf("%s --cost-limit-total %v", command, HigherLimit(n.limit, n.spent))
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
	t := &table{left: map[int]bool{1: true}, plain: true}
	add := func(command, why string) { t.add("  "+command, why) }
	if s.Owner == "" && s.next.resumable {
		if n := len(inside); n > 0 {
			add(s.next.resume(s.Dir, inside), "continue with "+printable.Count(n, "unfinished instance", "unfinished instances"))
		}
		if n := len(outside); n > 0 {
			add(retry(s.Dir, outside), "continue with "+printable.Count(n, "unfinished instance", "unfinished instances")+" of earlier commands")
		}
	}
	if i := slices.IndexFunc(records, func(r results.Record) bool { return !r.Outcome.Final() && r.Attempt > 0 }); i >= 0 {
		add("batch show "+word(s.Dir)+" "+word(records[i].InstanceID), "read what the agent did")
	}
	if len(t.rows) == 0 {
		return
	}
	fmt.Fprintln(b, "\nnext:")
	t.write(b)
}

// word is a text on one line, as a shell takes it as one word.
func word(text string) string { return printable.ShellWord(oneLine(text, 0)) }
