package steps

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/tidwall/gjson"

	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/trajectory"
)

// step returns the step in the form for people, and how the attempt ended if its messages
// say so.
func (p *part) step(r *pageReader) (Step, *End) {
	s := Step{Mark: p.Mark, Problems: p.problems, Rewrites: p.rewritesOf(r)}
	if p.reply == nil { // its record is damaged
		return s, nil
	}
	v := trajectory.ReadPart(p.messages)
	if p.view = v; len(v.Steps) == 0 {
		v.Steps = append(v.Steps, trajectory.Unfinished(p.Number, p.reply, r.mask))
		v.Steps[0].Notes = v.Prompts
	}
	was := v.Steps[0]
	for _, more := range v.Steps[1:] {
		was.Notes = append(was.Notes, more.Notes...)
	}
	was.Complete(p.was, r.mask)
	s.fill(&was)
	for i := range s.Actions {
		p.action(&s.Actions[i], i, v.Messages, was.Actions[i].Answer)
	}
	p.about(&s)
	return s, endOf(v.Exit)
}

// about adds what the journal knows of the call.
func (p *part) about(s *Step) {
	reply := p.reply
	s.Priced = reply.Priced || reply.Cost > 0
	s.Limited = reply.RateLimited()
	s.Model, s.Finish, s.Tokens = reply.Model, reply.FinishReason, p.request.Tokens
	s.LostCalls, s.LostCost = p.lost.Calls, p.lost.Cost
}

// action adds what the journal knows of an action. answer is the index of the message with
// its output.
func (p *part) action(a *Action, i int, messages []json.RawMessage, answer int) {
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
	if a.State != stateNames[trajectory.Submitted] && (answer == 0 || gjson.GetBytes(messages[answer], "extra.raw_output").IsObject()) {
		a.Output, a.Clipped = text.text, text.left
	}
}

var stateNames = map[trajectory.State]string{
	trajectory.Unknown: "unknown", trajectory.Running: "running", trajectory.Done: "done", trajectory.Submitted: "submitted",
}

// fill copies a step of a trajectory.
func (s *Step) fill(was *trajectory.Step) {
	s.Refused, s.Thought, s.Reasoning, s.Usage = was.Refused, was.Thought, was.Reasoning, was.Usage
	for _, n := range was.Notes {
		s.Notes = append(s.Notes, Text(n))
	}
	for i, a := range was.Actions {
		s.Actions = append(s.Actions, Action{
			Number: i + 1, Tool: a.Tool, Command: a.Command, State: stateNames[a.State], Exit: a.Exit, Seconds: a.Seconds,
			Note: a.Note, Output: a.Output, Kept: int64(len(a.Output)), Total: int64(len(a.Output)) + a.Hidden,
		})
	}
	if u := was.Usage; u != nil && u.Input > 0 {
		share := float64(u.Cached) / float64(u.Input)
		s.CacheShare = &share
	}
}

func endOf(e *trajectory.Exit) *End {
	if e == nil {
		return nil
	}
	return &End{Status: e.Status, Reason: e.Reason, Hint: e.Hint}
}

// promptsOf returns the messages before the first step, and how the attempt ended without
// one.
func (r *pageReader) promptsOf() (list []Text, end *End) {
	v := trajectory.ReadPart(r.prompts.messages)
	for _, m := range v.Prompts {
		list = append(list, Text(m))
	}
	return list, endOf(v.Exit)
}

// edited returns the messages of an edit as texts.
func (r *pageReader) edited(e journal.Edit) Edited {
	to := Edited{From: e.From, To: e.To}
	for _, m := range e.Messages {
		for _, c := range trajectory.ReadChat(r.mask.JSON(m)) {
			to.Messages = append(to.Messages, Text{c.Role, c.Text})
		}
	}
	return to
}

// end adds how the attempt ended, from the records at its end.
func (r *pageReader) end(p *Page, a *attempt, f io.ReaderAt, size int64) {
	if p.End == nil {
		p.End = &End{}
	}
	e := p.End
	var d struct{ Record *results.Record }
	rec, err := journal.RecordAt(f, a.end, size)
	if err == nil {
		err = json.Unmarshal(r.mask.JSON(rec.Data), &d)
	}
	if e.Record = d.Record; d.Record != nil && e.Status == "" {
		e.Status, e.Reason = d.Record.Status, d.Record.Error
	}
	patch, salvaged, patchErr := a.patch(f, size)
	if patchErr == nil {
		e.Submission, e.Bytes, e.Salvaged = clip(r.mask.Bytes(patch), r.clip).text, len(patch), salvaged
	}
	if err != nil || patchErr != nil && !errors.Is(patchErr, trajectory.ErrNoPatch) {
		p.Problems = append(p.Problems, Problem{a.end, "a record about the end of the attempt is damaged"})
	}
}

// patch reads what the attempt submitted, or else its salvaged patch.
func (a *attempt) patch(f io.ReaderAt, size int64) (patch []byte, salvaged bool, err error) {
	if a.submission > 0 {
		rec, err := journal.RecordAt(f, a.submission, size)
		if err != nil {
			return nil, false, err
		}
		if d, err := journal.Decode[journal.SubmissionData](rec); err != nil || len(d.Submission) > 0 {
			return d.Submission, false, err
		}
	}
	if a.salvage > 0 {
		rec, err := journal.RecordAt(f, a.salvage, size)
		if err != nil {
			return nil, false, err
		}
		if d, err := journal.Decode[journal.SalvageData](rec); err != nil || len(d.Patch) > 0 {
			return d.Patch, true, err
		}
	}
	return nil, false, trajectory.ErrNoPatch
}
