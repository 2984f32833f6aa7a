package search

import (
	"context"
	"errors"
	"io/fs"
	"sync"

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
	f, err := journal.OpenShown(path)
	if err != nil {
		return err
	}
	defer f.Close()
	buffer := buffers.Get().(*[]byte)
	r.output = *buffer
	defer func() {
		if *buffer = r.output; cap(r.output) <= bufferMost {
			buffers.Put(buffer)
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	from, to, err := journal.Bounds(f, info.Size(), number)
	if err != nil {
		return err
	}
	err = journal.Walk(f, from, to, func(rec *journal.Record, _ journal.Place) error {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if rec == nil {
			r.found.damaged++
			return nil
		}
		r.found.unmasked = r.found.unmasked || rec.Masked == 0
		r.hit.Attempt = rec.Attempt
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
