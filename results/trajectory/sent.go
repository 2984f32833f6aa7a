package trajectory

import (
	"bytes"
	"encoding/json"
	"strings"

	"batch.example/batch/internal/mask"
	"batch.example/batch/journal"
)

// outputIn reads an action's output.
func outputIn(a *journal.Attempt, step, action int, m *mask.Masker) (*Output, error) {
	if step < 1 || step > len(a.Steps) {
		return nil, errNoStep()
	}
	var out *Output
	n := 0
	err := a.Walk(step, step, func(rec *journal.Record, _ journal.Place) error {
		switch {
		case rec == nil: // the step's page reports it
		case rec.Type == journal.TypeReply:
			out, n = nil, 0
		case rec.Type == journal.TypeAction:
			d, err := journal.Decode[journal.ActionData](*rec)
			n = d.Action
			return err
		case rec.Type == journal.TypeOutput && n == action:
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

// sentIn reads what the model was sent of a step.
func sentIn(a *journal.Attempt, step int, m *mask.Masker) (*Sent, error) {
	p, parts, err := pageOf(a, step, step, Options{Clip: -1, edits: true}, m)
	if err != nil {
		return nil, err
	}
	if len(p.Steps) == 0 || step < 1 {
		return nil, errNoStep()
	}
	var messages []json.RawMessage
	if v := parts[0].view; v != nil {
		messages = v.Messages
	}
	return sentOf(&p.Steps[0], messages), nil
}

// sentOf compares the texts in a step's messages with its outputs.
func sentOf(s *Step, messages []json.RawMessage) *Sent {
	to := &Sent{Step: s.Number, Rewrites: s.Rewrites, Notes: s.Notes}
	for _, a := range s.Actions {
		if a.Answer > 0 && a.Answer < len(messages) {
			to.Shown = append(to.Shown, shownOf(&a, messages[a.Answer]))
		}
	}
	return to
}

// shownOf compares an action's output with the message that shows it to the model.
func shownOf(a *Action, message json.RawMessage) Shown {
	chats := ReadChat(message)
	s := Shown{Action: a.Number, Kept: a.Kept >= a.Total, Text: chats[0].Text}
	out := strings.TrimRight(a.Output, "\n")
	s.Differs = !strings.Contains(s.Text, out)
	s.Cut = s.Differs && len(s.Text) < len(out) || !s.Kept
	return s
}
