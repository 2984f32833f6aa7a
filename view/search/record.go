package search

import (
	"bytes"

	"github.com/tidwall/gjson"

	"batch.example/batch/journal"
	"batch.example/batch/results/trajectory"
)

// record searches a record of a journal. Data that cannot be decoded counts as damaged.
func (r *reader) record(rec *journal.Record) (err error) {
	switch rec.Type {
	case journal.TypeReply:
		if err = r.flush(""); err == nil {
			r.hit.Step, r.hit.Action = r.hit.Step+1, 0
			r.reply(rec)
		}
	case journal.TypeAction:
		err = r.action(rec)
	case journal.TypeOutput:
		err = r.outputs(rec)
	case journal.TypeSubmission:
		d, err := journal.Decode[journal.SubmissionData](*rec)
		r.keep(d.Submission, err)
	case journal.TypeSalvage:
		d, err := journal.Decode[journal.SalvageData](*rec)
		if len(r.patch) == 0 {
			r.keep(d.Patch, err)
		}
	case journal.TypeResume:
		r.patch = nil
	}
	return err
}

func (r *reader) keep(patch []byte, err error) {
	if r.patch = patch; err != nil {
		r.found.damaged++
	}
}

// reply keeps the text of a reply until its command is known, because the command does not count as a
// thought.
func (r *reader) reply(rec *journal.Record) {
	if !r.in[Thought] {
		return
	}
	message := gjson.GetBytes(rec.Data, "message").Raw
	r.thought = r.thought[:0]
	for _, c := range trajectory.ReadChat([]byte(message)) {
		r.thought = append(r.thought, joined(c.Text, c.Reasoning)...)
	}
}

// flush searches the text of the last reply, without its command.
func (r *reader) flush(command string) error {
	text := r.thought
	r.thought = text[:0]
	if len(text) == 0 {
		return nil
	}
	if command != "" && bytes.Contains(text, []byte(command)) {
		text = []byte(trajectory.WithoutCommand(string(text), command))
	}
	return r.look(Thought, r.hit.Step, 0, text)
}

// action searches a command.
func (r *reader) action(rec *journal.Record) error {
	if !r.in[Command] && len(r.thought) == 0 {
		r.hit.Action = int(gjson.GetBytes(rec.Data, "action").Int())
		return nil
	}
	d, err := journal.Decode[journal.ActionData](*rec)
	if err != nil {
		r.found.damaged++
		return nil
	}
	if err := r.flush(d.Command); err != nil {
		return err
	}
	again := d.Action == r.hit.Action // an interrupted action that is requested again
	if r.hit.Action = d.Action; again {
		return nil
	}
	return r.look(Command, r.hit.Step, d.Action, []byte(d.Command))
}

// outputs searches an output.
func (r *reader) outputs(rec *journal.Record) error {
	if !r.in[Output] {
		return nil
	}
	text, err := rec.AppendOutput(r.output[:0])
	if err != nil {
		r.found.damaged++
		return nil
	}
	r.output = text
	return r.look(Output, r.hit.Step, r.hit.Action, text)
}
