package trajectory

import (
	"encoding/base64"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"batch.example/batch/internal/mask"
	"batch.example/batch/journal"
	"batch.example/batch/vocab"
)

// file is an attempt that was read from a finished file.
type file struct {
	view  *View
	mask  *mask.Masker
	marks []journal.Mark
}

func readFile(s Source, m *mask.Masker) (*file, error) {
	v, err := s.file(m)
	if err != nil {
		return nil, err
	}
	f := &file{view: v, mask: m, marks: []journal.Mark{}}
	for i := range v.Steps {
		f.marks = append(f.marks, f.step(i, 0).Mark)
	}
	return f, nil
}

func (f *file) overview() *Overview {
	v := f.view
	o := &Overview{Instance: v.Instance, Form: v.Form, Attempt: v.Attempt, Model: v.Model, Ended: v.Exit != nil || v.Patch != nil, Marks: slices.Clone(f.marks)}
	if v.Record != nil {
		o.Began, o.Ended = v.Record.Started, v.Record.Outcome != vocab.OutcomePending
	}
	for _, m := range v.Messages {
		o.Size += int64(len(m))
	}
	return o
}

func (f *file) page(from, to int, o Options) *Page {
	v := f.view
	from, to = max(1, from), min(to, len(v.Steps))
	p := &Page{From: from, Total: len(v.Steps), Steps: []Step{}}
	for i := from; i <= to; i++ {
		p.Steps = append(p.Steps, f.step(i-1, o.clip()))
	}
	if from == 1 {
		p.Prompts = v.Prompts
	}
	if to == len(v.Steps) {
		p.End = f.end(o.clip())
	}
	return p
}

// end returns how the attempt ended; nil if the file does not say it.
func (f *file) end(most int) *End {
	v := f.view
	e := endOf(v.Exit)
	if e == nil && v.Info.ExitStatus == "" && v.Patch == nil {
		return nil
	}
	if e == nil {
		e = &End{Status: v.Info.ExitStatus, Reason: v.Info.Exception}
	}
	e.Record = v.Record
	if p := v.Patch; p != nil {
		e.Submission, e.Bytes, e.Salvaged = clip(f.mask.Bytes(p.Text), most).text, len(p.Text), p.Salvaged
	}
	return e
}

// step returns the step with an index.
func (f *file) step(i, most int) Step {
	s := f.view.Steps[i]
	s.Mark.Actions, s.Actions = len(s.Actions), slices.Clone(s.Actions)
	s.Flag(journal.FlagFormatError, s.Refused || hasNote(&s, vocab.StatusFormatError))
	s.Flag(journal.FlagRewritten, len(s.Rewrites) > 0)
	if at := f.answeredAt(&s); !at.IsZero() {
		s.Answered = at
	}
	for j := range s.Actions {
		f.action(&s, &s.Actions[j], most)
	}
	s.Flag(journal.FlagSubmission, f.last(i) && f.view.Exit != nil && f.view.Exit.Status == vocab.StatusSubmitted)
	return s
}

func (f *file) last(i int) bool { return i == len(f.view.Steps)-1 }

func hasNote(s *Step, name vocab.Status) bool {
	for _, n := range s.Notes {
		if n.Role == string(name) {
			return true
		}
	}
	return false
}

// answeredAt returns when the reply was added to the conversation; zero if it is not known.
func (f *file) answeredAt(s *Step) time.Time {
	if s.Reply < 0 || s.Reply >= len(f.view.Messages) {
		return time.Time{}
	}
	at := gjson.GetBytes(f.view.Messages[s.Reply], "extra.timestamp").Float()
	if at <= 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(at * 1e6)).UTC()
}

// action clips an action's output, and adds to what is known of its step.
func (f *file) action(s *Step, a *Action, most int) {
	out := clip([]byte(a.Output), most)
	a.Output, a.Clipped = out.text, out.left
	s.Commands += a.Seconds
	s.OutputBytes += a.Total
	if a.Answer > 0 && a.Answer < len(f.view.Messages) {
		extra := gjson.GetBytes(f.view.Messages[a.Answer], "extra")
		a.OOM = extra.Get("oom").Bool()
		a.TimedOut = extra.Get("exception_type").String() == "TimeoutExpired"
		a.Binary = extra.Get("raw_output_base64").Exists()
	}
	s.Flag(journal.FlagFailed, a.Exit != nil && *a.Exit != 0)
	s.Flag(journal.FlagTimedOut, a.TimedOut)
	s.Flag(journal.FlagOOM, a.OOM)
	s.Flag(journal.FlagSubmission, a.State == Submitted)
	s.Flag(journal.FlagEdit, journal.ChangesFile(a.Tool, a.Command))
}

// find returns an action.
func (f *file) find(step, action int) (*Action, error) {
	if step < 1 || step > len(f.view.Steps) || action < 1 || action > len(f.view.Steps[step-1].Actions) {
		return nil, errNoStep()
	}
	return &f.view.Steps[step-1].Actions[action-1], nil
}

func (f *file) output(step, action int) (*Output, error) {
	a, err := f.find(step, action)
	if err != nil {
		return nil, err
	}
	kept := []byte(a.Output)
	if a.Answer > 0 && a.Answer < len(f.view.Messages) {
		if exact := gjson.GetBytes(f.view.Messages[a.Answer], "extra.raw_output_base64"); exact.Exists() {
			kept = decoded(exact.String())
		}
	}
	return outputOf(kept, int64(len(kept))+a.Total-a.Kept, f.mask), nil
}

func (f *file) sent(step int) (*Sent, error) {
	if step < 1 || step > len(f.view.Steps) {
		return nil, errNoStep()
	}
	s := f.step(step-1, -1)
	s.Rewrites = slices.Clone(s.Rewrites)
	for i, w := range s.Rewrites {
		s.Rewrites[i] = w.withTexts(f.mask)
	}
	return sentOf(&s, f.view.Messages), nil
}

func (f *file) patch() ([]byte, bool, error) {
	p := f.view.Patch
	if p == nil {
		return nil, false, ErrNoPatch
	}
	return f.mask.Bytes(p.Text), p.Salvaged, nil
}

// decoded returns the bytes of a base64 text; none if it is damaged.
func decoded(text string) []byte {
	b, _ := base64.StdEncoding.DecodeString(text) //nolint:errcheck // see above
	return b
}
