package report

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/internal/printable"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/trajectory"
	"batch.example/batch/vocab"
)

// head writes a table of facts about the whole attempt.
func (t *trajectoryPage) head(v *trajectory.View) {
	row := func(name, value string) {
		gutter := fmt.Sprintf("%-10s", name)
		for line := range strings.SplitSeq(strings.TrimSpace(printable.Text(value)), "\n") {
			p := t.page
			if name == "time" && p.width == 0 {
				p.width = width
			}
			for _, part := range p.wrap(line, p.width-len(gutter), false) {
				if value != "" {
					fmt.Fprintln(t, strings.TrimRight(t.paint(quiet, gutter)+part, " "))
				}
				gutter = strings.Repeat(" ", len(gutter))
			}
		}
	}
	if v.Unmasked {
		fmt.Fprintln(t, t.paint(bad, "An older batch made this attempt: only the secrets of this process are hidden."))
	}
	row("instance", v.Instance)
	row("dataset", v.Dataset)
	row("model", v.Model)
	row("outcome", outcomeOf(v))
	for _, line := range gradeOf(v) {
		row(line.name, line.value)
	}
	row("attempt", attemptOf(v))
	if r := v.Record; r != nil && r.Attempt > 0 {
		row("steps", fmt.Sprint(max(r.Steps, len(v.Steps))))
		row("cost", UpTo(r.Cost, r.Unanswered))
		row("tokens", tokens(usageOf(v)))
		row("context", rewritesText(v.Steps))
		row("time", timeOf(r.Time))
		row("error", cmp.Or(r.Error, v.Info.Exception))
		return
	}
	row("steps", fmt.Sprint(max(v.Info.ModelStats.Calls, len(v.Steps))))
	if v.Info.ModelStats.Cost > 0 {
		row("cost", Dollars(v.Info.ModelStats.Cost))
	}
	row("tokens", tokens(usageOf(v)))
	row("error", v.Info.Exception)
}

// rewritesText says how often the conversation was shortened, and by which policies.
func rewritesText(steps []trajectory.Step) string {
	n := 0
	var policies []string
	for _, s := range steps {
		for _, w := range s.Rewrites {
			n++
			if policy := printable.Line(w.Policy); !slices.Contains(policies, policy) {
				policies = append(policies, policy)
			}
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("shortened %s (%s)", printable.Count(n, "time", "times"), strings.Join(policies, ", "))
}

// usageOf returns the record's usage, or the sum of the steps' usage while the record's is unknown.
func usageOf(v *trajectory.View) vocab.Usage {
	if r := v.Record; r != nil && r.Usage != (vocab.Usage{}) {
		return r.Usage
	}
	var sum vocab.Usage
	for _, s := range v.Steps {
		if s.Usage != nil {
			sum = sum.Add(*s.Usage)
		}
	}
	return sum
}

// outcomeOf returns the outcome with its exit status, and a description of the patch.
func outcomeOf(v *trajectory.View) string {
	r := v.Record
	if r == nil || r.Attempt == 0 {
		text := string(v.Info.ExitStatus)
		if p := v.Patch; p != nil && !p.Salvaged {
			text = cmp.Or(text, "submitted") + ", patch of " + printable.Count(len(p.Text), "byte", "bytes")
		}
		return text
	}
	if v.Running {
		return "running"
	}
	text := fmt.Sprintf("%s (%s)", r.Outcome, r.Status)
	switch {
	case r.Salvaged:
		text += ", salvaged patch of " + printable.Count(r.PatchBytes, "byte", "bytes")
	case r.PatchBytes > 0:
		text += ", patch of " + printable.Count(r.PatchBytes, "byte", "bytes")
	case v.Patch != nil && v.Patch.Salvaged:
		text += ", no submission, salvaged patch kept aside"
	}
	return text
}

func attemptOf(v *trajectory.View) string {
	switch {
	case v.Record == nil || v.Record.Status == vocab.StatusNotRun:
		return ""
	case v.Attempt == 0:
		return "made by another tool"
	}
	text := fmt.Sprintf("%d of %d", v.Attempt, max(v.Attempt, v.Attempts))
	if started := v.Record.Started; !started.IsZero() {
		text += ", started " + started.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	if n := v.Record.Resumed; n > 0 {
		text += ", resumed " + printable.Count(n, "time", "times")
	}
	if n := v.Record.Said; n > 0 {
		text += ", helped by a person with " + printable.Count(n, "message", "messages")
	}
	return text
}

func timeOf(p results.Phases) string {
	if p.Total <= 0 {
		return ""
	}
	return strings.TrimSuffix(Seconds(p.Total)+": "+strings.Join(phaseTexts(p, 0.005), ", "), ": ")
}

// tokens says how many tokens calls used.
func tokens(u vocab.Usage) string {
	if u == (vocab.Usage{}) {
		return ""
	}
	text := fmt.Sprintf("%d in", u.Input)
	if u.Cached > 0 {
		text += fmt.Sprintf(" (%d cached)", u.Cached)
	}
	text += fmt.Sprintf(", %d out", u.Output)
	if u.Reasoning > 0 {
		text += fmt.Sprintf(" (%d reasoning)", u.Reasoning)
	}
	return text
}

// brief formats a duration; below a second in milliseconds.
func brief(v float64) string {
	if v < 1 {
		return fmt.Sprintf("%.0fms", math.Ceil(1000*v))
	}
	return Seconds(v)
}

type headLine struct{ name, value string }

// gradeOf returns the results of grading: the verdict and its reason, the failing tests by name,
// and the path of the log. Empty values are not shown.
func gradeOf(v *trajectory.View) []headLine {
	r := v.Record
	if r == nil || r.Grade == nil {
		if r != nil && r.Quarantined {
			return []headLine{{"verdict", "none, quarantined"}}
		}
		return nil
	}
	g := r.Grade
	verdict := verdictCell(*r)
	if why := cmp.Or(g.Why, g.Error); why != "" {
		verdict += ": " + why
	}
	lines := []headLine{{"verdict", verdict}, {"", failing("FAIL_TO_PASS", g.FailToPass)}, {"", failing("PASS_TO_PASS", g.PassToPass)}}
	if g.Unstable {
		lines = append(lines, headLine{"", "repeated: " + joinVerdicts(g.Verdicts)})
	}
	for _, reason := range g.Suspicious {
		lines = append(lines, headLine{"", "suspicious: " + reason})
	}
	if g.Doubt != "" {
		lines = append(lines, headLine{"", "in doubt: " + g.Doubt})
	}
	for _, note := range g.Notes {
		lines = append(lines, headLine{"", "note: " + note})
	}
	if g.Log != "" {
		lines = append(lines, headLine{"test log", filepath.Join(v.Dir, filepath.FromSlash(g.Log))})
	}
	return lines
}

// failing names the first tests that failed: "FAIL_TO_PASS: 2 of 5 fail: a, b".
func failing(list string, t grades.Tests) string {
	n := len(t.Failed)
	if n == 0 {
		return ""
	}
	names := slices.Clone(t.Failed)
	for i := range names[:min(n, mostNames)] {
		names[i] = OneLine(names[i], 120)
	}
	return fmt.Sprintf("%s: %d of %d failed: %s", list, n, n+len(t.Passed), printable.Some(names, mostNames))
}
