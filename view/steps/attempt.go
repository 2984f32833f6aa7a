package steps

import (
	"time"

	"batch.example/batch/journal"
	"batch.example/batch/vocab"
)

// attempt is one attempt in an Index.
type attempt struct {
	number      int
	from        int64 // offset of its first line
	to          int64 // of the next attempt's; 0: it is the last
	began, last time.Time
	resumed     int
	end         int64 // offset of the record that ended it; -1: it has not ended
	reset       bool
	unmasked    bool    // nobody has looked for secrets in some of its records
	cost        float64 // so far

	submission, salvage int64 // offsets of records; 0: none

	steps []entry
	call  *pending // the next call, from its first record on
	turns []Turn
	now   Now
	idle  bool // nothing worked for some time: it was stopped, or waited for a person

	differences []difference
}

// difference is the place of a record about a command that had another output.
type difference struct {
	step int
	at   int64
}

// entry is a step, and where its records are.
type entry struct {
	Mark
	asked int64 // the first record of its call
	reply int64
}

// pending is a call that is not answered yet.
type pending struct {
	at    int64 // its first record
	asked time.Time
	mark  Mark // what is known of its step
}

// add adds the record at an offset. Its data is cut.
func (a *attempt) add(r *journal.Record, at int64) {
	a.last = r.Time
	before := a.cost
	a.cost = r.Cost
	m := newMembers(r.Data)
	switch r.Type {
	case journal.TypeAttempt:
		a.began = r.Time
	case journal.TypeResume, journal.TypeRetry:
		a.again(r)
	case journal.TypeEnd:
		a.end = at
	case journal.TypeReset:
		a.reset = true
	case journal.TypeSubmission:
		a.submission = at
	case journal.TypeSalvage:
		a.salvage = at
	case journal.TypeTurn, journal.TypeTurnEnd, journal.TypeClear:
		a.turn(r, m)
	case journal.TypeRequest, journal.TypeTry, journal.TypeLost, journal.TypeRewrite, journal.TypeSummaryRequest, journal.TypeSummary, journal.TypeUnpaid:
		a.calls(r, at, journal.Difference(r.Cost, before))
	case journal.TypeReply:
		a.answered(r, at, m, journal.Difference(r.Cost, before))
	default:
		a.acts(r, at, m)
	}
	a.does(r)
}

// again is a resume: the last command may have been interrupted, and is known only when it
// runs again.
func (a *attempt) again(r *journal.Record) {
	if r.Type == journal.TypeResume {
		a.resumed++
	}
	a.end, a.submission, a.idle = -1, 0, true
	if s := a.step(); s != nil {
		s.Flags &^= Submission
	}
}

// step returns the last step; nil if there is none.
func (a *attempt) step() *entry {
	if len(a.steps) == 0 {
		return nil
	}
	return &a.steps[len(a.steps)-1]
}

// calls reads a record of the next call.
func (a *attempt) calls(r *journal.Record, at int64, cost float64) {
	if a.call == nil {
		a.call = &pending{at: at}
	}
	mark := &a.call.mark
	switch r.Type {
	case journal.TypeRequest:
		a.call.asked = r.Time
		if s := a.step(); s != nil && s.Other == 0 && !a.idle {
			s.Other = max(0, seconds(s.Answered, r.Time)-s.Commands)
		}
		a.idle = false
	case journal.TypeTry:
		mark.Tries++
	case journal.TypeLost:
		mark.Flags |= Lost
	case journal.TypeRewrite:
		mark.Flags |= Rewritten
	case journal.TypeSummary:
		mark.SummaryCost += cost
	}
}

// answered begins a step.
func (a *attempt) answered(r *journal.Record, at int64, m members, cost float64) {
	call := a.call
	if call == nil {
		call = &pending{at: at}
	}
	a.call = nil
	e := entry{Mark: call.mark, asked: call.at, reply: at}
	e.Number, e.Turn, e.Asked, e.Answered, e.Cost = len(a.steps)+1, len(a.turns), call.asked, r.Time, cost
	for name, v, ok := m.next(); ok; name, v, ok = m.next() {
		switch string(name) {
		case "usage":
			e.usage(newMembers(v))
		case "seconds":
			e.Seconds = v.float()
		case "waited":
			e.Waited, e.Limited = v.float(), v.float()
		case "limited":
			e.Limited = v.float()
		}
	}
	if n := len(a.turns); n > 0 && a.turns[n-1].Step == 0 {
		a.turns[n-1].Step = e.Number
	}
	a.steps = append(a.steps, e)
}

func (e *entry) usage(m members) {
	for name, v, ok := m.next(); ok; name, v, ok = m.next() {
		switch string(name) {
		case "input_tokens":
			e.Input = v.int()
		case "cached_tokens":
			e.Cached = v.int()
		case "output_tokens":
			e.Output = v.int()
		}
	}
}

// acts reads a record that follows a reply.
func (a *attempt) acts(r *journal.Record, at int64, m members) {
	s := a.step()
	if s == nil {
		return
	}
	switch r.Type {
	case journal.TypeAction:
		s.action(r, m)
	case journal.TypeOutput:
		s.output(m)
	case journal.TypeDifference:
		for name, v, ok := m.next(); ok; name, v, ok = m.next() {
			if n := v.int(); string(name) == "step" && 1 <= n && n <= int64(len(a.steps)) {
				a.steps[n-1].Flags |= Differs
				a.differences = append(a.differences, difference{int(n), at})
			}
		}
	case journal.TypeInterrupt:
		for name, v, ok := m.next(); ok; name, v, ok = m.next() {
			if string(name) == "name" {
				s.Flags |= interrupts[vocab.Status(v.text())]
			}
		}
	}
}

var interrupts = map[vocab.Status]Flags{
	vocab.StatusFormatError: FormatError, vocab.StatusSubmitted: Submission, vocab.StatusUserInterruption: Words,
	vocab.StatusRepeatedFormatError: FormatError,
}

func (e *entry) action(r *journal.Record, m members) {
	e.Flags |= Running
	for name, v, ok := m.next(); ok; name, v, ok = m.next() {
		if string(name) == "action" {
			e.Actions = int(v.int())
		}
		if string(name) == "tool" {
			if EditsByTool(v.text(), textBegin(r.Data, "command", commandBegin)) {
				e.Flags |= Edit
			}
			return
		}
	}
	if Edits(textBegin(r.Data, "command", commandBegin)) {
		e.Flags |= Edit
	}
}

// commandBegin is how many bytes of a command are looked at for an edit.
const commandBegin = 400

func (e *entry) output(m members) {
	e.Flags &^= Running
	for name, v, ok := m.next(); ok; name, v, ok = m.next() {
		switch string(name) {
		case "total":
			e.OutputBytes += v.int()
		case "exit_code":
			if v.int() != 0 {
				e.Flags |= Failed
			}
		case "timed_out":
			e.flag(TimedOut, v)
		case "oom":
			e.flag(OOM, v)
		case "seconds":
			e.Commands += v.float()
			return
		}
	}
}

func (e *entry) flag(f Flags, v value) {
	if v.isTrue() {
		e.Flags |= f
	}
}

// turn reads a record of a conversation.
func (a *attempt) turn(r *journal.Record, m members) {
	switch r.Type {
	case journal.TypeTurn:
		a.turns = append(a.turns, Turn{Number: len(a.turns) + 1, Began: r.Time})
		if s := a.step(); s != nil {
			s.Flags |= Words
		}
	case journal.TypeClear:
		if s := a.step(); s != nil {
			s.Flags |= Cleared
		}
	case journal.TypeTurnEnd:
		n := len(a.turns)
		if n == 0 {
			return
		}
		a.turns[n-1].Ended, a.idle = r.Time, true
		for name, v, ok := m.next(); ok; name, v, ok = m.next() {
			if string(name) == "end" {
				a.turns[n-1].End = v.text()
			}
		}
	}
}

// does keeps what the attempt does since a record.
func (a *attempt) does(r *journal.Record) {
	n := Now{Does: "think", Since: r.Time, Step: len(a.steps)}
	switch r.Type {
	case journal.TypeRequest, journal.TypeSummaryRequest:
		n.Does, n.Step = "call", n.Step+1
	case journal.TypeTry:
		n.Does, n.Step = "try", n.Step+1
	case journal.TypeLost, journal.TypeUnpaid:
		n.Step++
	case journal.TypeAction:
		n.Does = "command"
		if s := a.step(); s != nil {
			n.Action = s.Actions
		}
	case journal.TypeReply, journal.TypeOutput, journal.TypeMessages:
	default:
		if a.now.Does != "" {
			return
		}
	}
	a.now = n
}
