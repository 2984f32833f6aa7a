package search

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"sync"

	"github.com/tidwall/gjson"

	"batch.example/batch/internal/mask"
	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/trajectory"
)

// read searches a source.
func (s *search) read(ctx context.Context, src Source, f *found) error {
	r := &reader{search: s, ctx: ctx, found: f, hide: src.Mask, hit: Hit{Source: src.Name, Instance: src.Instance, Attempt: max(0, src.Attempt)}}
	if src.File == "" && src.Attempt != 0 {
		err := r.journal(results.JournalPath(src.Dir, src.Instance), max(0, src.Attempt))
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	v, err := trajectory.Source{Dir: src.Dir, Instance: src.Instance, Attempt: src.Attempt, File: src.File}.Read(src.Mask)
	if err != nil {
		return err
	}
	return r.view(v)
}

// reader searches one source.
type reader struct {
	*search
	ctx   context.Context //nolint:containedctx // it belongs to one search
	found *found
	hide  *mask.Masker
	hit   Hit // describes the current place

	thought []byte // text of the last reply, until its first command is known
	output  []byte // output of the last command
	patch   []byte
}

// buffers are output buffers of earlier readers.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const bufferMost = 4 << 20

// look emits the first match in a text of the current place.
func (r *reader) look(where Place, step, action int, text []byte) error {
	if !r.in[where] || len(text) == 0 {
		return nil
	}
	h, ok := r.hitIn(text, r.hide)
	if !ok {
		return nil
	}
	h.Source, h.Instance, h.Attempt = r.hit.Source, r.hit.Instance, r.hit.Attempt
	h.Where, h.Step, h.Action = where, step, action
	select {
	case r.found.hits <- h:
		return nil
	case <-r.ctx.Done():
		return r.ctx.Err()
	}
}

// journal searches an attempt's records.
func (r *reader) journal(path string, number int) error {
	x, err := journal.NewIndex(path)
	if err != nil {
		return err
	}
	a, err := x.Attempt(number)
	if err != nil {
		return err
	}
	r.hit.Attempt, r.found.unmasked = a.Number, a.Unmasked
	buffer := buffers.Get().(*[]byte)
	r.output = *buffer
	defer func() {
		if *buffer = r.output; cap(r.output) <= bufferMost {
			buffers.Put(buffer)
		}
	}()
	err = a.Walk(1, len(a.Steps), func(rec *journal.Record, _ journal.Place) error {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if rec == nil {
			r.found.damaged++
			return nil
		}
		return r.record(rec)
	})
	if err == nil {
		err = r.flush("")
	}
	if err == nil {
		err = r.look(Patch, 0, 0, r.patch)
	}
	return err
}

// view searches a finished file.
func (r *reader) view(v *trajectory.View) error {
	r.hit.Attempt = v.Attempt
	if r.hit.Instance == "" {
		r.hit.Instance = v.Instance
	}
	for _, s := range v.Steps {
		err := r.look(Thought, s.Number, 0, []byte(joined(s.Thought, s.Reasoning)))
		for i, a := range s.Actions {
			if err == nil {
				err = r.look(Command, s.Number, i+1, []byte(a.Command))
			}
			if err == nil {
				err = r.look(Output, s.Number, i+1, []byte(a.Output))
			}
		}
		if err != nil {
			return err
		}
	}
	if v.Patch == nil {
		return nil
	}
	return r.look(Patch, 0, 0, v.Patch.Text)
}

func joined(thought, reasoning string) string {
	if reasoning == "" || thought == "" {
		return thought + reasoning
	}
	return thought + "\n" + reasoning
}

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
