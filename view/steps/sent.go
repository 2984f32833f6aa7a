package steps

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"batch.example/batch/internal/mask"
	"batch.example/batch/journal"
	"batch.example/batch/results/trajectory"
)

// errFound ends a walk.
var errFound = errors.New("found")

// output reads an action's output.
func (x *Index) output(number, step, action int, m *mask.Masker) (*Output, error) {
	var out *Output
	n := 0
	err := x.walk(number, step, func(rec *journal.Record) error {
		switch rec.Type {
		case journal.TypeAction:
			d, err := journal.Decode[journal.ActionData](*rec)
			n = d.Action
			return err
		case journal.TypeOutput:
			if n != action {
				return nil
			}
			d, err := rec.Output()
			if err != nil {
				return err
			}
			out = outputOf(d.Kept, d.Total, m)
		}
		return nil
	})
	if err == nil && out == nil {
		err = errNoStep()
	}
	return out, err
}

func outputOf(kept []byte, total int64, m *mask.Masker) *Output {
	o := &Output{Bytes: m.Bytes(kept), Total: total, Cut: total > int64(len(kept))}
	o.Hidden = !bytes.Equal(o.Bytes, kept)
	if o.Cut {
		o.At = int64(len(o.Bytes) / 2)
	}
	return o
}

// walk calls fn for the whole records from a step's reply to the next one.
func (x *Index) walk(number, step int, fn func(*journal.Record) error) error {
	x.mu.RLock()
	defer x.mu.RUnlock()
	a, err := x.attempt(number)
	if err != nil {
		return err
	}
	if step < 1 || step > len(a.steps) {
		return errNoStep()
	}
	f, err := x.open()
	if err != nil {
		return err
	}
	defer f.Close()
	_, end := a.bounds(step, step, x.at)
	err = journal.Walk(f, a.steps[step-1].reply, end, func(rec *journal.Record, _ journal.Place) error {
		if rec == nil {
			return nil // the step's page reports it
		}
		return fn(rec)
	})
	if errors.Is(err, errFound) {
		return nil
	}
	return err
}

// sent reads what the model was sent of a step.
func (x *Index) sent(number, step int, m *mask.Masker) (*Sent, error) {
	p, parts, err := x.pageAndParts(number, step, step, Options{Clip: -1, edits: true}, m)
	if err != nil {
		return nil, err
	}
	if len(p.Steps) == 0 || step < 1 {
		return nil, errNoStep()
	}
	s := &p.Steps[0]
	v := parts[0].view
	if v == nil {
		return sentOf(s, nil, nil), nil
	}
	return sentOf(s, v.Steps[0].Actions, v.Messages), nil
}

// sentOf compares the texts in a step's messages with its outputs. actions say which
// messages answer them.
func sentOf(s *Step, actions []trajectory.Action, messages []json.RawMessage) *Sent {
	to := &Sent{Step: s.Number, Rewrites: s.Rewrites, Notes: s.Notes}
	for i, a := range actions {
		if a.Answer > 0 && i < len(s.Actions) {
			to.Shown = append(to.Shown, shownOf(&s.Actions[i], messages[a.Answer]))
		}
	}
	return to
}

// shownOf compares an action's output with the message that shows it to the model.
func shownOf(a *Action, message json.RawMessage) Shown {
	chats := trajectory.ReadChat(message)
	s := Shown{Action: a.Number, Kept: a.Kept >= a.Total, Text: chats[0].Text}
	out := strings.TrimRight(a.Output, "\n")
	s.Differs = !strings.Contains(s.Text, out)
	s.Cut = s.Differs && len(s.Text) < len(out) || !s.Kept
	return s
}
