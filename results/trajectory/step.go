package trajectory

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"batch.example/batch/journal"
	"batch.example/batch/results"
)

// step returns the step in the form for people, and how the attempt ended if its messages
// say so.
func (p *part) step(r *pageReader) (Step, *End) {
	if p.reply == nil { // its record is damaged
		return Step{Mark: p.Mark, Problems: p.problems, Rewrites: p.rewritesOf(r)}, nil
	}
	v := readPart(p.messages)
	if p.view = v; len(v.Steps) == 0 {
		v.Steps = append(v.Steps, unfinished(p.Number, p.reply, r.mask))
		v.Steps[0].Notes = v.Prompts
	}
	s := v.Steps[0]
	s.Actions = slices.Clone(s.Actions)
	for _, more := range v.Steps[1:] {
		s.Notes = append(s.Notes, more.Notes...)
	}
	s.complete(p.was, r.mask)
	for i := range s.Actions {
		p.action(&s.Actions[i], i, v.Messages)
	}
	s.Mark, s.Problems, s.Rewrites = p.Mark, p.problems, p.rewritesOf(r)
	s.Limited = p.reply.RateLimited()
	s.Model, s.Finish, s.Tokens = p.reply.Model, p.reply.FinishReason, p.request.Tokens
	s.LostCalls, s.LostCost = p.lost.Calls, p.lost.Cost
	return s, endOf(v.Exit)
}

// action adds what the journal knows of an action.
func (p *part) action(a *Action, i int, messages []json.RawMessage) {
	a.Again = p.again[a.Number]
	text, ok := p.texts[i]
	if !ok || i >= len(p.was.Actions) || p.was.Actions[i].Output == nil {
		return
	}
	d := p.was.Actions[i].Output
	a.Timeout, a.TimedOut, a.OOM, a.Total, a.Kept, a.Binary = d.Timeout, d.TimedOut, d.OOM, d.Total, text.kept, text.binary
	if a.Note == "" {
		a.Note = d.Note
	}
	if a.State != Submitted && (a.Answer == 0 || gjson.GetBytes(messages[a.Answer], "extra.raw_output").IsObject()) {
		a.Output, a.Clipped = text.text, text.left
	}
}

func endOf(e *Exit) *End {
	if e == nil {
		return nil
	}
	return &End{Status: e.Status, Reason: e.Reason, Hint: e.Hint}
}

// promptsOf returns the messages before the first step, and how the attempt ended without
// one.
func (r *pageReader) promptsOf() (list []Message, end *End) {
	v := readPart(r.prompts.messages)
	return v.Prompts, endOf(v.Exit)
}

// end adds how the attempt ended, from the records at its end.
func (r *pageReader) end(p *Page, a *journal.Attempt) {
	if p.End == nil {
		p.End = &End{}
	}
	e := p.End
	var d struct{ Record *results.Record }
	rec, at, err := a.End()
	if err == nil {
		err = json.Unmarshal(r.mask.JSON(rec.Data), &d)
	}
	if e.Record = d.Record; d.Record != nil && e.Status == "" {
		e.Status, e.Reason = d.Record.Status, d.Record.Error
	}
	patch, salvaged, patchErr := a.Patch()
	if patch != nil {
		e.Submission, e.Bytes, e.Salvaged = clip(r.mask.Bytes(patch), r.clip).text, len(patch), salvaged
	}
	if err != nil || patchErr != nil {
		p.Problems = append(p.Problems, journal.Problem{Offset: int64(at), Text: "a record about the end of the attempt is damaged"})
	}
}
