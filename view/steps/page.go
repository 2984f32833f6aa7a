package steps

import (
	"batch.example/batch/internal/mask"
	"batch.example/batch/journal"
	"batch.example/batch/results/trajectory"
)

// DefaultClip is how many bytes of each output a page has if no number is given.
const DefaultClip = 16 << 10

// pageReader reads some steps of an attempt from its journal.
type pageReader struct {
	mask  *mask.Masker
	clip  int
	full  bool // for Sent: the messages of rewrites
	first int  // index of the first step that is wanted
	steps []*part

	at       int   // index of the step of the last reply; -1 before the first one
	last     *part // that step, if it is wanted; nil
	next     call  // the call that no reply follows yet
	prompts  part  // messages before the first step
	problems []Problem
}

// part is a step, while its records are read.
type part struct {
	entry
	call
	reply *journal.ReplyData
	was   journal.Step
	texts map[int]clipped // of the outputs, by the action's index
	again map[int][]Replay
	view  *trajectory.View // of its messages, once it is made
	talk
	problems []Problem
}

// page reads the steps with the numbers from from to to, as far as there are.
func (x *Index) page(number, from, to int, o Options, m *mask.Masker) (*Page, error) {
	p, _, err := x.pageAndParts(number, from, to, o, m)
	return p, err
}

// pageAndParts returns a page, and what it was made of.
func (x *Index) pageAndParts(number, from, to int, o Options, m *mask.Masker) (*Page, []*part, error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	a, err := x.attempt(number)
	if err != nil {
		return nil, nil, err
	}
	from, to = max(1, from), min(to, len(a.steps))
	r := &pageReader{mask: m, clip: o.clip(), full: o.edits, first: from - 1, at: min(from-1, len(a.steps)) - 1}
	for i := from; i <= to; i++ {
		r.steps = append(r.steps, &part{entry: a.steps[i-1]})
	}
	f, err := x.open()
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	begin, end := a.bounds(from, to, x.at)
	if err := journal.Walk(f, begin, end, r.record); err != nil {
		return nil, nil, err
	}
	r.differences(a, f, x.at)
	p := r.page(len(a.steps))
	if to == len(a.steps) && a.end >= 0 {
		r.end(p, a, f, x.at)
	}
	return p, r.steps, nil
}

// bounds returns where the records of some steps are, up to the next reply: messages of a
// step may follow the request of the next one. The first step comes with the prompts.
func (a *attempt) bounds(from, to int, size int64) (begin, end int64) {
	begin, end = a.from, size
	if a.to > 0 {
		end = a.to
	}
	if 1 < from && from <= len(a.steps) {
		begin = a.steps[from-1].asked
	}
	if from > len(a.steps) && len(a.steps) > 0 {
		begin = end
	}
	if to < len(a.steps) {
		end = a.steps[max(0, to)].reply
	}
	return begin, max(begin, end)
}

// record reads the next record.
func (r *pageReader) record(rec *journal.Record, at journal.Place) error {
	var err error
	if rec != nil {
		err = r.read(rec)
	}
	if rec != nil && err == nil {
		return nil
	}
	p := Problem{int64(at), "a record is damaged, or its copy for people is missing"}
	if err != nil {
		p.Text = "a record of type " + rec.Type + " cannot be read: " + err.Error()
	}
	if r.last != nil {
		r.last.problems = append(r.last.problems, p)
	}
	r.problems = append(r.problems, p)
	return nil
}

// page returns the page of what was read.
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
