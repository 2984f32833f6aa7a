package steps

import (
	"errors"
	"io/fs"
	"slices"

	"batch.example/batch/internal/mask"
	"batch.example/batch/results"
	"batch.example/batch/results/trajectory"
)

// Source names an attempt: of an instance in a run directory, or a file of any form.
type Source = trajectory.Source

// Options say how much a page has.
type Options struct {
	Clip int // bytes of an output at most; 0: DefaultClip; negative: all of them

	edits bool // also the messages of rewrites
}

func (o Options) clip() int {
	if o.Clip == 0 {
		return DefaultClip
	}
	return o.Clip
}

// Attempt is an attempt that can be read page by page. It is safe for concurrent use.
type Attempt struct {
	source Source
	number int    // negative: the last
	index  *Index // nil: of a file
	file   *file
	mask   *mask.Masker
}

// Open finds the attempt. An attempt with a journal is read from it, also if it has a file.
// Without the attempt the error wraps fs.ErrNotExist. m hides secrets.
func Open(s Source, m *mask.Masker) (*Attempt, error) {
	if s.File == "" && s.Attempt != 0 {
		x, err := NewIndex(results.JournalPath(s.Dir, s.Instance))
		var a *Attempt
		if err == nil {
			a, err = x.of(s, m)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return a, err
		}
	}
	return openFile(s, m)
}

// openFile opens an attempt without a journal.
func openFile(s Source, m *mask.Masker) (*Attempt, error) {
	f, err := readFile(s, m)
	if err != nil {
		return nil, err
	}
	return &Attempt{source: s, number: s.Attempt, file: f, mask: m}, nil
}

// of returns an attempt of the index.
func (x *Index) of(s Source, m *mask.Masker) (*Attempt, error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if _, err := x.attempt(s.Attempt); err != nil {
		return nil, err
	}
	return &Attempt{source: s, number: s.Attempt, index: x, mask: m}, nil
}

// Update reads what was appended to the journal, and reports whether there was anything new.
// A file is not read again: it appears when an attempt has ended.
func (a *Attempt) Update() (changed bool, err error) {
	if a.index == nil {
		return false, nil
	}
	return a.index.Update()
}

// Overview returns the attempt without its texts, as of the last Update. The caller may
// change it.
func (a *Attempt) Overview() (*Overview, error) {
	if a.index == nil {
		return a.file.overview(), nil
	}
	x := a.index
	x.mu.RLock()
	defer x.mu.RUnlock()
	at, err := x.attempt(a.number)
	if err != nil {
		return nil, err
	}
	o := &Overview{
		Instance: a.source.Instance, Form: "journal", Attempt: at.number, Attempts: x.states(),
		Began: at.began, Last: at.last, Ended: at.end >= 0, Resumed: at.resumed, Unmasked: at.unmasked,
		Marks: make([]Mark, len(at.steps)), Turns: slices.Clone(at.turns), Problems: slices.Clone(x.problems), Size: x.at,
	}
	for i, s := range at.steps {
		o.Marks[i] = s.Mark
	}
	if now := at.now; !o.Ended && at.to == 0 && now.Does != "" {
		o.Now = &now
	}
	return o, nil
}

// Page returns the steps with the numbers from from to to, as far as there are such steps.
// The page of the first step has the prompts, and the page of the last one how the attempt
// ended; so has the page from 1 to 0 of an attempt without steps.
func (a *Attempt) Page(from, to int, o Options) (*Page, error) {
	if a.index == nil {
		return a.file.page(from, to, o), nil
	}
	return a.index.page(a.number, from, to, o, a.mask)
}

// Output returns the output of an action. Without it the error wraps fs.ErrNotExist.
func (a *Attempt) Output(step, action int) (*Output, error) {
	if a.index == nil {
		return a.file.output(step, action)
	}
	return a.index.output(a.number, step, action, a.mask)
}

// Sent returns what the model was sent of a step's results, and the messages that replaced
// others just before the step. Without the step the error wraps fs.ErrNotExist.
func (a *Attempt) Sent(step int) (*Sent, error) {
	if a.index == nil {
		return a.file.sent(step)
	}
	return a.index.sent(a.number, step, a.mask)
}

// Patch returns what the attempt submitted, or if it did not submit the salvaged patch, with
// secrets hidden. Without either the error wraps trajectory.ErrNoPatch.
func (a *Attempt) Patch() (patch []byte, salvaged bool, err error) {
	if a.index == nil {
		return a.file.patch()
	}
	x := a.index
	x.mu.RLock()
	defer x.mu.RUnlock()
	at, err := x.attempt(a.number)
	if err != nil {
		return nil, false, err
	}
	f, err := x.open()
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	patch, salvaged, err = at.patch(f, x.at)
	return a.mask.Bytes(patch), salvaged, err
}

// errNoStep is the error for a step or an action that does not exist.
func errNoStep() error { return &fs.PathError{Op: "read", Path: "step", Err: fs.ErrNotExist} }
