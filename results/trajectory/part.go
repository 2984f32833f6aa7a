package trajectory

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/tidwall/gjson"

	"batch.example/batch/journal"
	"batch.example/batch/results"
)

// call is a call of the model, before its reply.
type call struct {
	request  journal.RequestData
	rewrites []journal.RewriteData
	summary  []journal.SummaryData
	sent     int // rewrites that a request followed
	lost     journal.LostData
}

// talk is the messages after a reply, without secrets. A resume takes back the ones after
// the last request.
type talk struct {
	messages []json.RawMessage
	sure     int // how many a request followed
	cleared  int // how many there were when a person had the conversation forgotten
}

func (t *talk) again() { t.messages = t.messages[:t.sure] }

// read reads a record of the journal.
func (r *pageReader) read(rec *journal.Record) error {
	switch rec.Type {
	case journal.TypeReply:
		return r.answered(rec)
	case journal.TypeRequest, journal.TypeRewrite, journal.TypeSummary, journal.TypeLost:
		return r.calls(rec)
	case journal.TypeAttempt:
		r.settings(rec)
	case journal.TypeResume, journal.TypeRetry:
		r.settings(rec)
		if r.last != nil && rec.Type == journal.TypeResume {
			r.last.shown = nil
		}
		r.conversation().again()
		r.next.rewrites = r.next.rewrites[:r.next.sent]
	case journal.TypeClear:
		t := r.conversation()
		t.cleared = len(t.messages)
		r.cleared = t
	case journal.TypeTurnEnd:
		end, err := journal.Decode[journal.TurnEndData](*rec)
		if end.Closes() {
			r.commit()
		}
		return err
	case journal.TypeMessages:
		return r.messages(rec)
	case journal.TypeAction, journal.TypeOutput:
		if r.last != nil {
			return r.last.acts(rec, r)
		}
	}
	return nil
}

// settings keeps a record that began or resumed the attempt, if the whole attempt is read.
func (r *pageReader) settings(rec *journal.Record) {
	if r.whole {
		r.opened = append(r.opened, bytes.Clone(r.mask.JSON(rec.Data)))
	}
}

// conversation returns the messages after the last reply.
func (r *pageReader) conversation() *talk {
	if r.last != nil {
		return &r.last.talk
	}
	return &r.prompts.talk
}

func (r *pageReader) commit() {
	t := r.conversation()
	t.sure = len(t.messages)
}

// answered begins the next step.
func (r *pageReader) answered(rec *journal.Record) error {
	next := r.next
	r.at, r.next, r.last = r.at+1, call{}, nil
	if i := r.at - r.first; i < 0 || i >= len(r.steps) {
		return nil
	}
	p := r.steps[r.at-r.first]
	r.last, p.call, p.reply = p, next, &journal.ReplyData{}
	err := p.reply.UnmarshalJSON(rec.Data)
	p.reply.Message, p.reply.Response = bytes.Clone(p.reply.Message), bytes.Clone(p.reply.Response)
	p.was = journal.Step{Number: p.Number, Asked: p.Asked, Reply: p.reply}
	return err
}

// calls reads a record of the next call.
func (r *pageReader) calls(rec *journal.Record) (err error) {
	switch c := &r.next; rec.Type {
	case journal.TypeRequest:
		r.commit()
		c.sent = len(c.rewrites)
		c.request, err = journal.Decode[journal.RequestData](*rec)
	case journal.TypeRewrite:
		var w journal.RewriteData
		w, err = journal.Decode[journal.RewriteData](*rec)
		c.rewrites = append(c.rewrites, w)
	case journal.TypeSummary:
		var s journal.SummaryData
		s, err = journal.Decode[journal.SummaryData](*rec)
		c.summary = append(c.summary, s)
	case journal.TypeLost:
		var lost journal.LostData
		lost, err = journal.Decode[journal.LostData](*rec)
		c.lost.Calls, c.lost.Cost = c.lost.Calls+lost.Calls, c.lost.Cost+lost.Cost
	}
	return err
}

// messages reads messages of a step that is wanted, or the prompts.
func (r *pageReader) messages(rec *journal.Record) error {
	if r.last == nil && (r.at >= 0 || r.first > 0) {
		return nil
	}
	var reply *journal.ReplyData
	var shown []journal.OutputData
	if r.last != nil {
		reply, shown = r.last.reply, r.last.shown
	}
	list, err := rec.Messages(reply, shown)
	t := r.conversation()
	for _, m := range list {
		if reply != nil {
			m = withResponse(m, r.at+1, reply.Response)
		}
		t.messages = append(t.messages, bytes.Clone(r.mask.JSON(m)))
	}
	return err
}

// withResponse returns a message with the provider's answer in place of a reference to it,
// if the reader of the message needs it: a reply that was refused is nowhere else.
func withResponse(m json.RawMessage, step int, response []byte) json.RawMessage {
	if !bytes.Contains(m, []byte(`"response":{"step":`)) || gjson.GetBytes(m, "role").String() == "assistant" {
		return m
	}
	ref := gjson.GetBytes(m, "extra.response")
	if ref.Index == 0 || ref.Get("step").Int() != int64(step) || len(response) == 0 {
		return m
	}
	return slices.Concat(m[:ref.Index], response, m[ref.Index+len(ref.Raw):])
}

// acts reads a command or its output.
func (p *part) acts(rec *journal.Record, r *pageReader) error {
	n := len(p.was.Actions)
	if rec.Type == journal.TypeAction {
		d, err := journal.Decode[journal.ActionData](*rec)
		if n > 0 && p.was.Actions[n-1].Output == nil {
			p.was.Actions = p.was.Actions[:n-1] // it was still running, and is requested again
		}
		p.was.Actions = append(p.was.Actions, journal.Action{Command: r.mask.Text(d.Command), Tool: r.mask.Text(d.Tool)})
		return err
	}
	if n == 0 {
		return nil
	}
	d, err := rec.Output()
	if d.Picture() != nil {
		p.shown = append(p.shown, d)
	}
	text := clip(r.mask.Bytes(d.Kept), r.clip)
	text.kept = int64(len(d.Kept))
	d.Kept, d.Shown, d.Note = nil, "", r.mask.Text(d.Note)
	p.was.Actions[n-1].Output = &d
	if p.texts == nil {
		p.texts = map[int]clipped{}
	}
	p.texts[n-1] = text
	return err
}

// difference reads the output of a command that ran again.
func (r *pageReader) difference(step int, rec *journal.Record, at journal.Place) error {
	p := r.steps[step-1-r.first]
	var d journal.DifferenceData
	err := errors.New("it is damaged")
	if rec != nil {
		d, err = journal.Decode[journal.DifferenceData](*rec)
	}
	if err != nil {
		r.problems = append(r.problems, journal.Problem{Offset: int64(at), Text: "a record of type difference is damaged"})
		return nil
	}
	if p.again == nil {
		p.again = map[int][]Replay{}
	}
	p.again[d.Action] = append(p.again[d.Action], Replay{Exit: d.ExitCode, Output: clip(r.mask.Bytes(d.Output), r.clip).text, Total: d.Total})
	return nil
}

// rewritesOf returns the changes of the conversation that was sent.
func (p *part) rewritesOf(r *pageReader) (list []Rewrite) {
	for _, w := range p.rewrites[:p.sent] {
		to := Rewrite{Policy: w.Policy, Refused: w.Refused, Before: w.Before, After: w.After}
		for _, e := range w.Edits {
			to.Messages += e.To - e.From
			if r.full {
				to.Edits = append(to.Edits, editedBy(e, r.mask))
			}
		}
		for _, s := range p.summary {
			if s.Digest == w.Summary && w.Summary != "" {
				to.Summary = &results.SummaryCall{Cost: s.Reply.Cost, Usage: s.Reply.Usage, Model: s.Reply.Model, Seconds: s.Reply.Seconds}
			}
		}
		list = append(list, to)
	}
	return list
}
