package session

import (
	"context"
	"encoding/json"
	"time"

	"batch.example/batch/agent"
	"batch.example/batch/fault"
	"batch.example/batch/journal"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// continueFrom adds the earlier events of this attempt to a turn, and releases the
// history's conversation.
func continueFrom(h *journal.History, turn *agent.Turn) error {
	for _, raw := range h.Conversation() {
		m, err := message(raw)
		if err != nil {
			return err
		}
		turn.Messages = append(turn.Messages, m)
	}
	for _, s := range h.Before() {
		turn.Calls++
		turn.Cost += s.Reply.Cost
		if !s.Reply.Priced {
			turn.Unpriced++
		}
	}
	t := h.Turn()
	turn.Earlier = agent.Spent{Calls: t.Calls, Cost: t.Cost, Unpriced: t.Unpriced}
	turn.Tokens, turn.Elapsed, turn.FormatErrors = h.Tokens(), max(0, h.Elapsed-t.Elapsed), h.FormatErrors
	for i := range h.Summaries {
		turn.Cost += h.Summaries[i].Reply.Cost
		if !h.Summaries[i].Reply.Priced {
			turn.Unpriced++
		}
	}
	last := h.Last()
	h.Release() // the agent has it now
	if last == nil {
		return nil
	}
	reply, err := message(last.Reply.Message)
	if err != nil {
		return err
	}
	turn.Unfinished = &agent.Unfinished{Reply: response(reply, last.Reply)}
	turn.Elapsed += turn.Unfinished.Reply.Waited // the journal left it out, and the agent will when it takes the reply
	for _, a := range last.Actions {
		if turn.Unfinished.Begun = a.Output == nil; !turn.Unfinished.Begun {
			turn.Unfinished.Outputs = append(turn.Unfinished.Outputs, output(a.Output))
		}
	}
	return nil
}

// spent is the spending that a turn begins with, and the part of an unfinished step that its
// run has yet to count.
func spent(turn *agent.Turn) agent.Spent {
	all := agent.Spent{Calls: turn.Calls, Cost: turn.Cost}
	if u := turn.Unfinished; u != nil {
		all.Calls++
		all.Cost += u.Reply.Cost
	}
	return all
}

// message decodes a message from the journal.
func message(raw json.RawMessage) (llm.Message, error) {
	var m llm.Message
	if err := json.Unmarshal(raw, &m); err != nil {
		return m, fault.New(fault.Instance, "reading a message of the journal", err)
	}
	return m, nil
}

func response(m llm.Message, r *journal.ReplyData) *llm.Response {
	return &llm.Response{
		Message: m, FinishReason: r.FinishReason, Usage: r.Usage, Cost: r.Cost, Priced: r.Priced,
		Model: r.Model, Raw: r.Response, Waited: seconds(r.Waited), RateLimited: seconds(r.RateLimited()),
	}
}

func output(o *journal.OutputData) vocab.Output {
	out := o.Output
	out.Bytes, out.Timeout, out.Duration = o.Kept, seconds(o.Timeout), seconds(o.Seconds)
	return out
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Last returns the last turn, with the metadata that it began with and how it ended; ok is
// false for a session without turns. A server that was killed uses it to find out what
// happened to the words that it had accepted.
func (s *Session) Last(context.Context) (last journal.Turn, ok bool, err error) {
	err = s.idle("reading the last turn", func() error {
		h, err := s.c.Store.HistoryHere()
		if err != nil || h.Turn() == nil {
			return err
		}
		last, ok = *h.Turn(), true
		return nil
	})
	return last, ok, err
}
