package trajectory

import (
	"io/fs"
	"time"

	"batch.example/batch/internal/mask"
	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

// Options say how much a page has.
type Options struct {
	Clip int // bytes of an output at most; 0: DefaultClip; negative: all of them

	edits bool // also the messages of rewrites
	whole bool // the whole attempt, with its settings
}

func (o Options) clip() int {
	if o.Clip == 0 {
		return DefaultClip
	}
	return o.Clip
}

// Attempt is an attempt that can be read page by page, for a viewer of attempts whose journals are large, and
// grow while people read them: a journal is never in memory as a whole, and [Attempt.Update] reads only what was
// appended (see [journal.Index]). It is read as people may read it, see [journal.Shown]; secrets of the
// reader's mask are hidden too, in all texts and bytes. Bytes that are not UTF-8 are U+FFFD in texts;
// [Attempt.Output] returns them as they were. It is safe for concurrent use.
type Attempt struct {
	source Source
	number int            // negative: the last
	index  *journal.Index // nil: of a file
	file   *file
	mask   *mask.Masker
}

// openFile opens an attempt without a journal.
func openFile(s Source, m *mask.Masker) (*Attempt, error) {
	f, err := readFile(s, m)
	if err != nil {
		return nil, err
	}
	return &Attempt{source: s, number: s.Attempt, file: f, mask: m}, nil
}

// of returns an attempt of an index.
func of(x *journal.Index, s Source, m *mask.Masker) (*Attempt, error) {
	if _, err := x.Attempt(s.Attempt); err != nil {
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
	at, err := a.index.Attempt(a.number)
	if err != nil {
		return nil, err
	}
	o := &Overview{
		Instance: a.source.Instance, Form: "journal", Attempt: at.Number, Attempts: a.index.States(),
		Began: at.Began, Last: at.Last, Ended: at.Ended(), Resumed: at.Resumed, Unmasked: at.Unmasked,
		Marks: at.Steps, Turns: at.Turns, Problems: a.index.Problems(), Size: at.Size(),
	}
	if o.Marks == nil {
		o.Marks = []journal.Mark{}
	}
	if !o.Ended && at.Latest() && at.Now.Does != "" {
		o.Now = &at.Now
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
	at, err := a.index.Attempt(a.number)
	if err != nil {
		return nil, err
	}
	p, _, err := pageOf(at, from, to, o, a.mask)
	return p, err
}

// Output returns the output of an action. Without it the error wraps fs.ErrNotExist.
func (a *Attempt) Output(step, action int) (*Output, error) {
	if a.index == nil {
		return a.file.output(step, action)
	}
	at, err := a.index.Attempt(a.number)
	if err != nil {
		return nil, err
	}
	return outputIn(at, step, action, a.mask)
}

// Sent returns what the model was sent of a step's results, and the messages that replaced
// others just before the step. Without the step the error wraps fs.ErrNotExist.
func (a *Attempt) Sent(step int) (*Sent, error) {
	if a.index == nil {
		return a.file.sent(step)
	}
	at, err := a.index.Attempt(a.number)
	if err != nil {
		return nil, err
	}
	return sentIn(at, step, a.mask)
}

// Patch returns what the attempt submitted, or if it did not submit the salvaged patch, with
// secrets hidden. Without either the error wraps ErrNoPatch.
func (a *Attempt) Patch() (patch []byte, salvaged bool, err error) {
	if a.index == nil {
		return a.file.patch()
	}
	at, err := a.index.Attempt(a.number)
	if err != nil {
		return nil, false, err
	}
	if patch, salvaged, err = at.Patch(); err == nil && patch == nil {
		err = ErrNoPatch
	}
	return a.mask.Bytes(patch), salvaged, err
}

// errNoStep is the error for a step or an action that does not exist.
func errNoStep() error { return &fs.PathError{Op: "read", Path: "step", Err: fs.ErrNotExist} }

// Overview is an attempt without its texts.
type Overview struct {
	Instance string                 `json:"instance"`
	Form     string                 `json:"form"`    // "journal", "batch", "mini-swe-agent", "swe-agent" or "atif"
	Attempt  int                    `json:"attempt"` // 0: of another tool
	Attempts []journal.AttemptState `json:"attempts,omitempty"`
	Model    string                 `json:"model,omitempty"` // only of a file

	Began   time.Time `json:"began,omitzero"`
	Last    time.Time `json:"last,omitzero"` // of the last record
	Ended   bool      `json:"ended"`
	Resumed int       `json:"resumed,omitempty"` // how often
	// Unmasked: a part of it was never searched for secrets, see [journal.Shown].
	Unmasked bool         `json:"unmasked,omitempty"`
	Now      *journal.Now `json:"now,omitempty"` // nil after the end, and if it is not known

	Marks    []journal.Mark     `json:"steps"`
	Turns    []journal.TurnMark `json:"turns,omitempty"`
	Problems []journal.Problem  `json:"problems,omitempty"`
	Size     int64              `json:"bytes"` // of the file that was read
}

// Page has some steps of an attempt in full.
type Page struct {
	From     int               `json:"from"`              // number of the first step
	Steps    []Step            `json:"steps"`             // empty if there are none
	Total    int               `json:"total"`             // steps in the attempt
	Prompts  []Message         `json:"prompts,omitempty"` // before the first step, if the page has it
	End      *End              `json:"end,omitempty"`     // with the last step, if the attempt has ended
	Problems []journal.Problem `json:"problems,omitempty"`
}

// End is how an attempt ended.
type End struct {
	Status     vocab.Status    `json:"status"`
	Reason     string          `json:"reason,omitempty"` // empty if the status says everything
	Hint       string          `json:"hint,omitempty"`
	Record     *results.Record `json:"record,omitempty"`
	Submission string          `json:"submission,omitempty"` // clipped as outputs are
	Bytes      int             `json:"submission_bytes"`
	Salvaged   bool            `json:"salvaged,omitempty"` // Submission is the working tree's diff
}

// Output has the bytes that were kept of a command's output.
type Output struct {
	Bytes  []byte `json:"bytes"`  // exact, except for secrets; base64 in JSON
	Total  int64  `json:"total"`  // bytes that the command wrote
	Cut    bool   `json:"cut"`    // fewer are kept: the beginning and the end
	At     int64  `json:"at"`     // where the middle is missing, if Cut: offset in Bytes, at most
	Hidden bool   `json:"hidden"` // secrets are hidden in Bytes
}

// Sent has the texts that the model was sent about a step's results, and says how the conversation before the
// step was rewritten.
type Sent struct {
	Step     int       `json:"step"`
	Rewrites []Rewrite `json:"rewrites,omitempty"`
	Shown    []Shown   `json:"shown,omitempty"` // one for each action that has an answer
	Notes    []Message `json:"notes,omitempty"`
}

// Shown is the text that the model was sent about an action.
type Shown struct {
	Action  int    `json:"action"`
	Text    string `json:"text"`
	Differs bool   `json:"differs"` // the output is not in Text as it was written
	Cut     bool   `json:"cut"`     // a part of the output was left out in Text
	Kept    bool   `json:"kept"`    // the whole output is known
}
