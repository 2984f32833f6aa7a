package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"batch.example/batch/internal/printable"
	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

// Grading summarizes the verdicts of the predictions that count, one per instance. Quarantined
// instances are listed, but are not in the other figures.
type Grading struct {
	Predictions int             `json:"predictions"`
	Graded      int             `json:"graded"` // predictions with a verdict that counts
	Resolved    int             `json:"resolved"`
	NotGraded   int             `json:"not_graded"` // predictions without any verdict
	Verdicts    []VerdictStatus `json:"verdicts"`   // in the order of vocab.Verdicts, without zeros

	Rewards *Rewards `json:"rewards,omitempty"` // of task folders; nil: there are none

	Suspicious  []Suspicion `json:"suspicious,omitempty"` // verdicts that may be wrong
	Unstable    []Unstable  `json:"unstable,omitempty"`   // verdicts that differed between repetitions of the tests
	Notes       []Note      `json:"notes,omitempty"`      // how the grading of predictions differed from the usual
	Quarantined []string    `json:"quarantined,omitempty"`
	Excused     []string    `json:"excused,omitempty"` // entries of another tool that infrastructure left empty: in no figure
}

// VerdictStatus counts the predictions with one verdict.
type VerdictStatus struct {
	Verdict     vocab.Verdict `json:"verdict"`
	Predictions int           `json:"predictions"`
}

// Suspicion says why the verdict on one prediction may be wrong.
type Suspicion struct {
	ID      string   `json:"instance_id"`
	Reasons []string `json:"reasons"`
}

// Unstable is a prediction with different verdicts in repeated executions.
type Unstable struct {
	ID       string          `json:"instance_id"`
	Verdicts []vocab.Verdict `json:"verdicts"`
}

// Note says something about how some predictions were graded.
type Note struct {
	Text string   `json:"text"`
	IDs  []string `json:"instance_ids"`
}

// newGrading returns nil if nothing was graded or quarantined. records has one record per
// instance.
func newGrading(records []results.Record) *Grading {
	if !isGraded(records) {
		return nil
	}
	return sumVerdicts(records)
}

func sumVerdicts(records []results.Record) *Grading {
	g := &Grading{Verdicts: []VerdictStatus{}}
	count := map[vocab.Verdict]int{}
	for _, r := range records {
		if r.Quarantined {
			g.Quarantined = append(g.Quarantined, r.InstanceID)
		} else if r.Excused() {
			g.Excused = append(g.Excused, r.InstanceID)
		} else if r.Outcome.Final() {
			g.add(r)
			count[verdictOf(r)]++
		}
	}
	g.NotGraded, g.Rewards = count[""], rewardsOf(records)
	for _, v := range vocab.Verdicts() {
		if count[v] > 0 {
			g.Verdicts = append(g.Verdicts, VerdictStatus{v, count[v]})
		}
	}
	return g
}

// WriteGrades writes a table of the predictions by verdict, the rate, and notes. asked has the ids
// of the requested instances; nil means the instances in records.
func WriteGrades(w io.Writer, asked []string, records []results.Record) error {
	last := results.Latest(records)
	var chosen []results.Record
	for _, id := range askedFor(asked, last) {
		chosen = append(chosen, results.LatestOf(last, id))
	}
	g := newGrading(chosen)
	return buffered(w, func(b *bufio.Writer) { g.write(b) })
}

func isGraded(records []results.Record) bool {
	return slices.ContainsFunc(records, func(r results.Record) bool { return r.Grade != nil || r.Quarantined })
}

// verdictOf returns "" for a record without a grade.
func verdictOf(r results.Record) vocab.Verdict {
	if r.Grade == nil {
		return ""
	}
	return r.Grade.Verdict
}

func (g *Grading) add(r results.Record) {
	g.Predictions++
	if r.Resolved != nil {
		g.Graded++
		if *r.Resolved {
			g.Resolved++
		}
	}
	if r.Grade != nil && len(r.Grade.Suspicious) > 0 {
		g.Suspicious = append(g.Suspicious, Suspicion{r.InstanceID, r.Grade.Suspicious})
	}
	if r.Grade != nil {
		if doubt := r.Grade.Doubt; doubt != "" {
			g.note("the verdict may be wrong: "+doubt, r.InstanceID)
		}
		for _, text := range r.Grade.Notes {
			g.note(text, r.InstanceID)
		}
	}
	if r.Grade != nil && r.Grade.Unstable {
		g.Unstable = append(g.Unstable, Unstable{r.InstanceID, r.Grade.Verdicts})
	}
}

// note adds an instance to the list of instances with the same note.
func (g *Grading) note(text, id string) {
	i := slices.IndexFunc(g.Notes, func(n Note) bool { return n.Text == text })
	if i < 0 {
		i = len(g.Notes)
		g.Notes = append(g.Notes, Note{Text: text})
	}
	g.Notes[i].IDs = append(g.Notes[i].IDs, id)
}

// Rate returns the share of resolved predictions with its base: "resolved 8 of 10 graded (80.0%),
// 10 of 12 predictions graded".
func (g *Grading) Rate() string {
	share := ""
	if g.Graded > 0 {
		share = fmt.Sprintf(" (%s%%)", printable.Share(float64(g.Resolved)/float64(g.Graded)))
	}
	return fmt.Sprintf("resolved %d of %d graded%s, %d of %s graded", g.Resolved, g.Graded, share,
		g.Graded, printable.Count(g.Predictions, "prediction", "predictions"))
}

// write writes a table by verdict, the rate, and notes. A nil g writes nothing.
func (g *Grading) write(b *bufio.Writer) {
	if g == nil {
		return
	}
	fmt.Fprintln(b)
	g.table().Write(b)
	fmt.Fprintln(b)
	writeWords(b, g.Rate(), "  ")
	if g.Rewards != nil {
		writeWords(b, g.Rewards.text(), "  ")
	}
	var lines []string
	for _, s := range g.Suspicious {
		lines = append(lines, s.ID+": "+strings.Join(s.Reasons, "; "))
	}
	writeFirst(b, printable.Count(len(lines), "suspicious verdict", "suspicious verdicts"), lines)
	lines = nil
	for _, u := range g.Unstable {
		lines = append(lines, u.ID+": "+joinVerdicts(u.Verdicts))
	}
	writeFirst(b, printable.Count(len(lines), "unstable verdict", "unstable verdicts"), lines)
	lines = nil
	for _, n := range g.Notes {
		lines = append(lines, fmt.Sprintf("%s (%d): %s", n.Text, len(n.IDs), printable.Some(n.IDs, mostNames)))
	}
	writeFirst(b, printable.Count(len(lines), "note on grading", "notes on grading"), lines)
	if len(g.Excused) > 0 {
		writeWords(b, OneLine(g.excused()+": "+printable.Some(g.Excused, mostNames), 0), "  ")
	}
	if n := len(g.Quarantined); n > 0 {
		writeWords(b, OneLine(g.quarantine()+": "+printable.Some(g.Quarantined, mostNames), 0), "  ")
	}
}

// excused returns "2 infrastructure failures of another tool, in no rate".
func (g *Grading) excused() string {
	return printable.Count(len(g.Excused), "infrastructure failure", "infrastructure failures") + " of another tool, in no rate"
}

// quarantine returns "2 quarantined instances, in no rate".
func (g *Grading) quarantine() string {
	return printable.Count(len(g.Quarantined), "quarantined instance", "quarantined instances") + ", in no rate"
}

const mostNames = 5 // in a list

func joinVerdicts(list []vocab.Verdict) string {
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = v.String()
	}
	return strings.Join(words, ", ")
}

func (g *Grading) table() *printable.Table {
	t := printable.Numbers()
	t.Add("verdict", "predictions")
	for _, v := range g.Verdicts {
		t.Add(v.Verdict.String(), fmt.Sprint(v.Predictions))
	}
	if g.NotGraded > 0 {
		t.Add("not graded", fmt.Sprint(g.NotGraded))
	}
	t.Rule()
	t.Add("total", fmt.Sprint(g.Predictions))
	return t
}

// writeFirst writes a headline and the first few lines. It writes nothing without lines.
func writeFirst(b *bufio.Writer, head string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintln(b, head+":")
	for _, line := range lines[:min(mostNames, len(lines))] {
		writeParagraph(b, line, 3)
	}
	if rest := len(lines) - mostNames; rest > 0 {
		fmt.Fprintf(b, "    and %d more\n", rest)
	}
}

// withoutPassed returns the records without the names of passed tests, which may be thousands.
func withoutPassed(records []results.Record) []results.Record {
	records = slices.Clone(records)
	for i := range records {
		if g := records[i].Grade; g != nil {
			short := *g
			short.FailToPass.Passed, short.PassToPass.Passed = nil, nil
			records[i].Grade = &short
		}
	}
	return records
}
