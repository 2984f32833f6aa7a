package trajectory

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"batch.example/batch/internal/mask"
	"batch.example/batch/journal"
)

// DefaultClip is how many bytes of each output a page has if no number is given.
const DefaultClip = 16 << 10

// pageReader reads some steps of an attempt from its journal.
type pageReader struct {
	mask    *mask.Masker
	clip    int
	full    bool  // for Sent: the messages of rewrites
	whole   bool  // for a View: the settings too
	seq     int64 // of the last record
	cleared *talk // the messages in which the conversation was forgotten last; nil
	first   int   // index of the first step that is wanted
	steps   []*part

	at       int               // index of the step of the last reply; -1 before the first one
	last     *part             // that step, if it is wanted; nil
	next     call              // the call that no reply follows yet
	prompts  part              // messages before the first step
	opened   []json.RawMessage // data of the records that began and resumed the attempt
	problems []journal.Problem
}

// part is a step, while its records are read.
type part struct {
	journal.Mark
	call
	reply *journal.ReplyData
	was   journal.Step
	texts map[int]clipped      // of the outputs, by the action's index
	shown []journal.OutputData // pictures
	again map[int][]Replay
	view  *View // of its messages, once it is made
	talk
	problems []journal.Problem
}

// pageOf reads the steps with the numbers from from to to, as far as there are, and returns what the page
// was made of, too.
func pageOf(a *journal.Attempt, from, to int, o Options, m *mask.Masker) (*Page, []*part, error) {
	r, err := readSteps(a, from, to, o, m)
	if err != nil {
		return nil, nil, err
	}
	p := r.page(len(a.Steps))
	if min(to, len(a.Steps)) == len(a.Steps) && a.Ended() {
		r.end(p, a)
	}
	return p, r.steps, nil
}

// readSteps reads the records of some steps.
func readSteps(a *journal.Attempt, from, to int, o Options, m *mask.Masker) (*pageReader, error) {
	from, to = max(1, from), min(to, len(a.Steps))
	r := &pageReader{mask: m, clip: o.clip(), full: o.edits, whole: o.whole, first: from - 1, at: min(from-1, len(a.Steps)) - 1}
	for i := from; i <= to; i++ {
		r.steps = append(r.steps, &part{Mark: a.Steps[i-1]})
	}
	if err := a.Walk(from, to, r.record); err != nil {
		return nil, err
	}
	return r, a.Differences(from, to, r.difference)
}

// record reads the next record.
func (r *pageReader) record(rec *journal.Record, at journal.Place) error {
	var err error
	if rec != nil {
		if r.whole && r.seq > 0 && rec.Seq != r.seq+1 {
			r.problems = append(r.problems, journal.Problem{Offset: int64(at), Text: "a record is missing before it"})
		}
		r.seq = rec.Seq
		err = r.read(rec)
	}
	if rec != nil && err == nil {
		return nil
	}
	p := journal.Problem{Offset: int64(at), Text: "a record is damaged, or its copy for people is missing"}
	if err != nil {
		p.Text = "a record of type " + rec.Type + " cannot be read: " + err.Error()
	}
	if r.last != nil {
		r.last.problems = append(r.last.problems, p)
	}
	r.problems = append(r.problems, p)
	return nil
}

// page returns the page of the steps that were read.
func (r *pageReader) page(total int) *Page {
	p := &Page{From: r.first + 1, Total: total, Steps: []Step{}, Problems: r.problems}
	if r.first == 0 {
		p.Prompts, p.End = r.promptsOf()
	}
	for _, s := range r.steps {
		step, end := s.step(r)
		p.Steps = append(p.Steps, step)
		if end != nil {
			p.End = end
		}
	}
	return p
}

// clipped is a text that may have lost its middle.
type clipped struct {
	text   string
	left   int64 // bytes that were left out
	kept   int64 // bytes before that, secrets included
	binary bool  // some are not UTF-8
}

// clip returns at most about most bytes, without secrets, as text.
func clip(b []byte, most int) clipped {
	c := clipped{binary: !utf8.Valid(b)}
	if most < 0 || len(b) <= most {
		c.text = toText(string(b), c.binary)
		return c
	}
	head, tail := most-most/2, len(b)-most/2
	for head > 0 && head > most-most/2-utf8.UTFMax && !utf8.RuneStart(b[head]) {
		head--
	}
	for tail < len(b) && tail < len(b)-most/2+utf8.UTFMax && !utf8.RuneStart(b[tail]) {
		tail++
	}
	c.left = int64(tail - head)
	c.text = toText(string(b[:head])+gap(c.left)+string(b[tail:]), c.binary)
	return c
}

// gap is the line that stands for bytes that were left out of a clipped text.
func gap(bytes int64) string {
	return "\n[... " + strconv.FormatInt(bytes, 10) + " bytes are not shown ...]\n"
}

// toText replaces each byte that is not UTF-8.
func toText(s string, binary bool) string {
	if !binary {
		return s
	}
	var b strings.Builder
	for _, c := range s {
		b.WriteRune(c)
	}
	return b.String()
}
