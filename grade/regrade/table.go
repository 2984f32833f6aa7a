package regrade

import (
	"fmt"
	"io"

	"batch.example/batch/internal/printable"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/vocab"
)

// namesShown is how many ids of one kind a table names.
const namesShown = 10

// Write prints the report for a person: predictions by verdict, the rate with its coverage, and the
// predictions without a verdict that counts.
func (r Report) Write(w io.Writer) error {
	byVerdict := map[vocab.Verdict][]string{}
	counted := 0
	for _, g := range r.Graded {
		byVerdict[g.Verdict] = append(byVerdict[g.Verdict], g.InstanceID)
		if g.Verdict.Counts() {
			counted++
		}
	}
	words(w, r.Model+", run "+r.RunID)
	var t printable.Table
	for _, v := range vocab.Verdicts() {
		if n := len(byVerdict[v]); n > 0 {
			t.Row("  "+v.String(), n)
		}
	}
	if n := len(r.Quarantined); n > 0 {
		t.Row("  in quarantine, not counted", n)
	}
	if err := t.Write(w); err != nil {
		return err
	}
	asked := len(r.Graded) + len(r.Missing)
	fmt.Fprintf(w, "resolved %s, coverage %s\n", share(len(byVerdict[vocab.VerdictResolved]), counted), share(counted, asked))
	names(w, "no log", r.Missing)
	names(w, "in quarantine", r.Quarantined)
	r.notes(w)
	_, err := fmt.Fprintf(w, "report: %s\n", r.Path)
	return err
}

// notes names the predictions that need attention: no verdict that counts, unresolved and why, lost
// tests, and suspicious logs.
func (r Report) notes(w io.Writer) {
	for _, g := range r.Graded {
		if !g.Verdict.Counts() {
			words(w, g.Verdict.String()+": "+g.InstanceID+": "+g.Why)
		}
	}
	r.unresolved(w)
	for _, g := range r.Graded {
		if g.Doubt != "" {
			words(w, "in doubt: "+g.InstanceID+": "+g.Doubt)
		}
	}
	for _, g := range r.Graded {
		for _, s := range g.Suspicious {
			words(w, "suspicious: "+g.InstanceID+": "+s)
		}
	}
}

// unresolved says why the first predictions do not resolve their instances.
func (r Report) unresolved(w io.Writer) {
	n := 0
	for _, g := range r.Graded {
		if g.Verdict != vocab.VerdictUnresolved {
			continue
		}
		if n++; n <= namesShown {
			words(w, g.Verdict.String()+": "+g.InstanceID+": "+g.Why)
		}
	}
	if n > namesShown {
		fmt.Fprintf(w, "unresolved: %d more: see tests_status in their %s\n", n-namesShown, swebench.ReportName)
	}
}

// Complete reports whether every log has a verdict that counts. Instances without a log may have no
// prediction.
func (r Report) Complete() bool {
	for _, g := range r.Graded {
		if !g.Verdict.Counts() {
			return false
		}
	}
	return true
}

// share returns "71 of 98 (72.4%)".
func share(n, of int) string {
	if of == 0 {
		return fmt.Sprintf("%d of 0", n)
	}
	return fmt.Sprintf("%d of %d (%s%%)", n, of, printable.Share(float64(n)/float64(of)))
}

func names(w io.Writer, label string, ids []string) {
	if len(ids) == 0 {
		return
	}
	words(w, label+": "+printable.Some(ids, namesShown))
}

// words prints a paragraph.
func words(w io.Writer, text string) {
	const width, indent = 80, "  "
	fmt.Fprintln(w, printable.Words(printable.Line(text), indent, width))
}
