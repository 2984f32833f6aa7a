package journal

import (
	"io"
	"io/fs"
	"os"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/vocab"
)

// Attempt is an attempt in an [Index]: facts about its steps, and where its records are. The records
// themselves are read when they are asked for, as people may read them: see [Shown].
type Attempt struct {
	Number      int
	Began, Last time.Time // Last is of its last record
	Resumed     int       // how often
	Reset       bool      // a person asked to forget its result
	Unmasked    bool      // some of its records were never searched for secrets
	Cost        float64   // US dollars so far
	Steps       []Mark
	Turns       []TurnMark
	Now         Now // what it did last; zero: not known

	path string
	file fs.FileInfo // that was indexed
	size int64       // of the whole lines in it

	from                int64 // offset of its first line, or of damage before it
	to                  int64 // of the next attempt's; 0: it is the last
	end                 int64 // offset of the record that ended it; -1: it has not ended
	submission, salvage int64 // offsets of records; 0: none
	places              []places
	differences         []difference

	call   *pending // the next call, from its first record on
	closed int      // steps before the end of a turn that did not fail
	idle   bool     // nothing worked for some time: it was stopped, or waited for a person
}

// Ended reports whether the attempt is over.
func (a *Attempt) Ended() bool { return a.end >= 0 }

// Latest reports whether no other attempt follows.
func (a *Attempt) Latest() bool { return a.to == 0 }

// Size is how many bytes the whole lines of the journal had.
func (a *Attempt) Size() int64 { return a.size }

// AttemptState has the facts about an attempt that need no step.
type AttemptState struct {
	Number int       `json:"attempt"`
	Steps  int       `json:"steps"`
	Began  time.Time `json:"began,omitzero"`
	Last   time.Time `json:"last,omitzero"` // of its last record
	Ended  bool      `json:"ended"`
	Reset  bool      `json:"reset,omitempty"` // a person asked to forget its result
	Cost   float64   `json:"cost"`

	Unmasked bool `json:"unmasked,omitempty"` // some of its records were never searched for secrets
}

// Now says what an attempt that has not ended did last. Whether its process still runs is not
// in a journal.
type Now struct {
	Does   string    `json:"does"` // "call", "try", "command" or "think" (between them)
	Since  time.Time `json:"since"`
	Step   int       `json:"step"`
	Action int       `json:"action,omitempty"` // of a command
}

// TurnMark is a turn of a conversation. The turn of a batch run has none.
type TurnMark struct {
	Number int       `json:"turn"`
	Step   int       `json:"step"` // its first step, if it has any
	Began  time.Time `json:"began"`
	Ended  time.Time `json:"ended,omitzero"`
	End    TurnEnd   `json:"end,omitempty"`
}

// Problem is damage in a file that was read around.
type Problem struct {
	Offset int64  `json:"offset"`
	Text   string `json:"text"`
}

// difference is the place of a record about a command that had another output.
type difference struct {
	step int
	at   int64
}

// places are where the records of a step begin.
type places struct {
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
func (a *Attempt) add(r *Record, at int64) {
	a.Last = r.Time
	before := a.Cost
	a.Cost = r.Cost
	m := newMembers(r.Data)
	switch r.Type {
	case TypeAttempt:
		a.Began = r.Time
	case TypeResume, TypeRetry:
		a.again(r)
	case TypeEnd:
		a.end = at
	case TypeReset:
		a.Reset = true
	case TypeSubmission:
		a.submission = at
	case TypeSalvage:
		a.salvage = at
	case TypeTurn, TypeTurnEnd, TypeClear:
		a.turn(r, m)
	case TypeRequest, TypeTry, TypeLost, TypeRewrite, TypeSummaryRequest, TypeSummary, TypeUnpaid:
		a.calls(r, at, Difference(r.Cost, before))
	case TypeReply:
		a.answered(r, at, m, Difference(r.Cost, before))
	default:
		a.acts(r, at, m)
	}
	a.does(r)
}

// again is a resume: the last command may have been interrupted, and is known only when it
// runs again.
func (a *Attempt) again(r *Record) {
	if r.Type == TypeResume {
		a.Resumed++
	}
	a.end, a.submission, a.idle = -1, 0, true
	if s := a.step(); s != nil && a.closed < len(a.Steps) { // otherwise it does not submit again
		s.Flags &^= FlagSubmission
	}
}

// step returns the last step; nil if there is none.
func (a *Attempt) step() *Mark {
	if len(a.Steps) == 0 {
		return nil
	}
	return &a.Steps[len(a.Steps)-1]
}

// calls reads a record of the next call.
func (a *Attempt) calls(r *Record, at int64, cost float64) {
	if a.call == nil {
		a.call = &pending{at: at}
	}
	mark := &a.call.mark
	switch r.Type {
	case TypeRequest:
		a.call.asked = r.Time
		if s := a.step(); s != nil && s.Other == 0 && !a.idle {
			s.Other = max(0, seconds(s.Answered, r.Time)-s.Commands)
		}
		a.idle = false
	case TypeTry:
		mark.Tries++
	case TypeLost:
		mark.Flags |= FlagLost
	case TypeRewrite:
		mark.Flags |= FlagRewritten
	case TypeSummary:
		mark.SummaryCost += cost
	}
}

// answered begins a step.
func (a *Attempt) answered(r *Record, at int64, m members, cost float64) {
	call := a.call
	if call == nil {
		call = &pending{at: at}
	}
	a.call = nil
	e := call.mark
	e.Number, e.Turn, e.Asked, e.Answered, e.Cost = len(a.Steps)+1, len(a.Turns), call.asked, r.Time, cost
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
	if n := len(a.Turns); n > 0 && a.Turns[n-1].Step == 0 {
		a.Turns[n-1].Step = e.Number
	}
	a.Steps, a.places = append(a.Steps, e), append(a.places, places{call.at, at})
}

func (s *Mark) usage(m members) {
	for name, v, ok := m.next(); ok; name, v, ok = m.next() {
		switch string(name) {
		case "input_tokens":
			s.Input = v.int()
		case "cached_tokens":
			s.Cached = v.int()
		case "output_tokens":
			s.Output = v.int()
		}
	}
}

// acts reads a record that follows a reply.
func (a *Attempt) acts(r *Record, at int64, m members) {
	s := a.step()
	if s == nil {
		return
	}
	switch r.Type {
	case TypeAction:
		s.action(r, m)
	case TypeOutput:
		s.output(m)
	case TypeDifference:
		for name, v, ok := m.next(); ok; name, v, ok = m.next() {
			if n := v.int(); string(name) == "step" && 1 <= n && n <= int64(len(a.Steps)) {
				a.Steps[n-1].Flags |= FlagDiffers
				a.differences = append(a.differences, difference{int(n), at})
			}
		}
	case TypeInterrupt:
		for name, v, ok := m.next(); ok; name, v, ok = m.next() {
			if string(name) == "name" {
				s.Flags |= interrupts[vocab.Status(v.text())]
			}
		}
	}
}

var interrupts = map[vocab.Status]Flags{
	vocab.StatusFormatError: FlagFormatError, vocab.StatusSubmitted: FlagSubmission, vocab.StatusUserInterruption: FlagWords,
	vocab.StatusRepeatedFormatError: FlagFormatError,
}

func (s *Mark) action(r *Record, m members) {
	s.Flags |= FlagRunning
	for name, v, ok := m.next(); ok; name, v, ok = m.next() {
		if string(name) == "action" {
			s.Actions = int(v.int())
		}
		if string(name) == "tool" {
			s.Flag(FlagEdit, ChangesFile(v.text(), textBegin(r.Data, "command", commandBegin)))
			return
		}
	}
	s.Flag(FlagEdit, ChangesFile("", textBegin(r.Data, "command", commandBegin)))
}

// commandBegin is how many bytes of a command are looked at for an edit.
const commandBegin = 400

func (s *Mark) output(m members) {
	s.Flags &^= FlagRunning
	for name, v, ok := m.next(); ok; name, v, ok = m.next() {
		switch string(name) {
		case "total":
			s.OutputBytes += v.int()
		case "exit_code":
			s.Flag(FlagFailed, v.int() != 0)
		case "timed_out":
			s.Flag(FlagTimedOut, v.isTrue())
		case "oom":
			s.Flag(FlagOOM, v.isTrue())
		case "seconds":
			s.Commands += v.float()
			return
		}
	}
}

// turn reads a record of a conversation.
func (a *Attempt) turn(r *Record, m members) {
	switch r.Type {
	case TypeTurn:
		if len(a.Turns) == 0 && textBegin(r.Data, "words", 1) == "" {
			return // of a batch run: it is the whole attempt
		}
		a.Turns = append(a.Turns, TurnMark{Number: len(a.Turns) + 1, Began: r.Time})
		if s := a.step(); s != nil {
			s.Flags |= FlagWords
		}
	case TypeClear:
		if s := a.step(); s != nil {
			s.Flags |= FlagCleared
		}
	case TypeTurnEnd:
		a.idle = true
		var end TurnEnd
		for name, v, ok := m.next(); ok; name, v, ok = m.next() {
			if string(name) == "end" {
				end = TurnEnd(v.text())
			}
		}
		if end != TurnFailed {
			a.closed = len(a.Steps)
		}
		if n := len(a.Turns); n > 0 {
			a.Turns[n-1].Ended, a.Turns[n-1].End = r.Time, end
		}
	}
}

// does keeps what the attempt does since a record.
func (a *Attempt) does(r *Record) {
	n := Now{Does: "think", Since: r.Time, Step: len(a.Steps)}
	switch r.Type {
	case TypeRequest, TypeSummaryRequest:
		n.Does, n.Step = "call", n.Step+1
	case TypeTry:
		n.Does, n.Step = "try", n.Step+1
	case TypeLost, TypeUnpaid:
		n.Step++
	case TypeAction:
		n.Does = "command"
		if s := a.step(); s != nil {
			n.Action = s.Actions
		}
	case TypeReply, TypeOutput, TypeMessages:
	default:
		if a.Now.Does != "" {
			return
		}
	}
	a.Now = n
}

// Walk calls fn for each record of some steps, as [Walk] does, up to the next reply: messages of a step may
// follow the request of the next one. The first step comes with the records before it. The step from 1 to 0
// of an attempt without steps are all its records.
func (a *Attempt) Walk(from, to int, fn func(*Record, Place) error) error {
	f, err := a.open()
	if err != nil {
		return err
	}
	defer f.Close()
	begin, end := a.bounds(from, to)
	return Walk(f, begin, end, fn)
}

// open opens the file that was indexed, for people.
func (a *Attempt) open() (*Shown, error) {
	f, err := OpenShown(a.path)
	if err != nil {
		return nil, atomicfile.Fault("opening a journal", err)
	}
	info, err := f.Stat()
	if err == nil && (!os.SameFile(info, a.file) || info.Size() < a.size) {
		err = fault.Newf(fault.Instance, "%s was replaced while it was read: read it again", a.path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// bounds returns where the records of some steps are.
func (a *Attempt) bounds(from, to int) (begin, end int64) {
	begin, end = a.from, a.size
	if a.to > 0 {
		end = a.to
	}
	if 1 < from && from <= len(a.places) {
		begin = a.places[from-1].asked
	}
	if from > len(a.places) && len(a.places) > 0 {
		begin = end
	}
	if to < len(a.places) {
		end = a.places[max(0, to)].reply
	}
	return begin, max(begin, end)
}

// Differences calls fn for each record about a command of some steps that had another output when it ran
// again. These records are after a resume, perhaps many steps later. A record that is damaged is nil.
func (a *Attempt) Differences(from, to int, fn func(step int, r *Record, at Place) error) error {
	if len(a.differences) == 0 {
		return nil
	}
	f, err := a.open()
	if err != nil {
		return err
	}
	defer f.Close()
	for _, d := range a.differences {
		if d.step < from || d.step > to {
			continue
		}
		rec, err := RecordAt(f, d.at, a.size)
		found := &rec
		if err != nil {
			found = nil
		}
		if err := fn(d.step, found, Place(d.at)); err != nil {
			return err
		}
	}
	return nil
}

// End reads the record that ended the attempt, which must have ended.
func (a *Attempt) End() (Record, Place, error) {
	r, err := a.at(a.end)
	return r, Place(a.end), err
}

// Asked is when the call began that has no answer yet; zero if there is none.
func (a *Attempt) Asked() time.Time {
	if a.call == nil || a.Ended() {
		return time.Time{}
	}
	return a.call.asked
}

func (a *Attempt) at(place int64) (Record, error) {
	f, err := a.open()
	if err != nil {
		return Record{}, err
	}
	defer f.Close()
	return RecordAt(f, place, a.size)
}

// Patch reads what the attempt submitted, or else its working tree's diff; nil without either.
func (a *Attempt) Patch() (patch []byte, salvaged bool, err error) {
	f, err := a.open()
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	return a.patch(f)
}

// ExactPatch is Patch with every byte, also of secrets.
func (a *Attempt) ExactPatch() (patch []byte, salvaged bool, err error) {
	f, err := a.open()
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	return a.patch(f.File)
}

func (a *Attempt) patch(f io.ReaderAt) (patch []byte, salvaged bool, err error) {
	if a.submission > 0 {
		rec, err := RecordAt(f, a.submission, a.size)
		if err != nil {
			return nil, false, err
		}
		if d, err := Decode[SubmissionData](rec); err != nil || len(d.Submission) > 0 {
			return d.Submission, false, err
		}
	}
	if a.salvage > 0 {
		rec, err := RecordAt(f, a.salvage, a.size)
		if err != nil {
			return nil, false, err
		}
		if d, err := Decode[SalvageData](rec); err != nil || len(d.Patch) > 0 {
			return d.Patch, true, err
		}
	}
	return nil, false, nil
}
