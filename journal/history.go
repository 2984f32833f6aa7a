package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/regular"
	"batch.example/batch/vocab"
)

// History is one attempt at an instance, read from its journal, including its resumes.
// The caller may change it.
type History struct {
	Attempt int
	Started time.Time
	Resumed int             // times that the attempt was resumed
	End     json.RawMessage // data of the record by which it ended, or was last stopped; nil while it runs and after a crash

	// Opened is the data of the records that began and resumed the attempt.
	Opened []json.RawMessage

	// What the attempt submitted, and what the records before its end kept. A resume
	// clears these, except Salvage, which stays until another record replaces it.
	Submission *SubmissionData
	Salvage    *SalvageData
	Prediction json.RawMessage

	// Container, if it still exists, contains the effects of all recorded actions, and
	// knows an action that was running by its step and number; nil before there was one.
	Container *ContainerData

	ImageID string // of the container that the recorded actions ran in last

	// Messages is the conversation up to the last request, as the trajectory has it.
	// Everything after it follows from the last step.
	Messages     []json.RawMessage
	Later        []json.RawMessage // messages after the last request
	FormatErrors int               // in a row, up to the last request

	sent []json.RawMessage // the conversation of the last request, if a rewrite changed it

	Rewrites  []Rewrite     // of the conversation sent to the model, in order
	Summaries []SummaryData // answered calls that are no steps, in order

	// Summarized says that the model wrote a summary of the conversation, for a policy that batch
	// does not have: the attempt cannot continue.
	Summarized bool

	Steps       []Step        // every request, in order
	Differences int           // outputs that differed when their actions ran again
	Elapsed     time.Duration // of work: see builder.clock
	Kept        int64         // bytes of outputs in the journal
	Unmasked    bool          // some of its records were never searched for secrets: see [Shown]
	Copies      bool          // people may read only copies of some of its records

	Pull, Start, Prepare, Replay float64 // seconds until its containers were ready, in total

	// Of the session that the attempt is. A batch run has one turn.
	Session   *SessionData
	Turns     []Turn
	Artifacts []Artifact
	Cleared   int // times that the conversation was forgotten

	closed int // finished steps: a turn has ended after them
	first  int // the first turn since the conversation was forgotten

	open    func() (io.ReaderAt, io.Closer, error) // the journal
	outputs map[OutputRef]keptOutput
	replies map[int]span // by step
}

// Conversation returns the messages of the last request: Messages, with rewrites applied.
func (h *History) Conversation() []json.RawMessage {
	if h.sent != nil {
		return h.sent
	}
	return h.Messages
}

// Release forgets the conversation, its rewrites and the steps, for a caller that has taken
// them over.
func (h *History) Release() {
	h.Messages, h.Later, h.sent, h.Rewrites, h.Summaries, h.Steps = nil, nil, nil, nil, nil, nil
}

// Rewrite is a change of the conversation that is sent to the model. It took place when the
// trajectory had At messages.
type Rewrite struct {
	At int
	RewriteData
}

// SummaryOf returns the answer of the call with the digest; nil if there is none.
func (h *History) SummaryOf(digest string) *ReplyData {
	for i := range h.Summaries {
		if h.Summaries[i].Digest == digest {
			return &h.Summaries[i].Reply
		}
	}
	return nil
}

// Source reads the data that a [History] only refers to.
type Source struct {
	h     *History
	f     io.ReaderAt
	close io.Closer
}

// Source opens the journal to read from it. The caller must Close it.
func (h *History) Source() (*Source, error) {
	f, c, err := h.open()
	if err != nil {
		return nil, atomicfile.Fault("opening a journal", err)
	}
	return &Source{h, f, c}, nil
}

// Close closes the journal.
func (s *Source) Close() error { return s.close.Close() }

// Output reads the kept bytes of an action's output, and returns how many bytes it had;
// nil if there is no output.
func (s *Source) Output(ref OutputRef) (output []byte, total int64, err error) {
	kept, ok := s.h.outputs[ref]
	if !ok {
		return nil, 0, nil
	}
	rec, err := RecordAt(s.f, kept.line.from, kept.line.to+1)
	if err == nil {
		output, err = rec.AppendOutput(nil)
	}
	return output, kept.total, err
}

// Response reads the provider's answer to a step; empty if none is known.
func (s *Source) Response(step int) (json.RawMessage, error) {
	line, ok := s.h.replies[step]
	if !ok {
		return nil, nil
	}
	rec, err := RecordAt(s.f, line.from, line.to+1)
	if err != nil {
		return nil, err
	}
	r := gjson.GetManyBytes(rec.Data, "message", "response", "shared") // it was decoded when the history was read
	var shared [][3]int
	if r[2].Exists() {
		if err := json.Unmarshal([]byte(r[2].Raw), &shared); err != nil {
			return nil, err
		}
	}
	return unshare([]byte(r[0].Raw), []byte(r[1].Raw), shared)
}

// keptOutput is the place of an action's output, and how many bytes it had.
type keptOutput struct {
	line  span
	total int64
}

// OutputRef refers to an action's output: the step and the action, both from 1.
type OutputRef struct {
	Step   int `json:"step"`
	Action int `json:"action"`
}

// Step is one request, its reply and its actions. Only [History.Last] has the large data:
// the reply's message and response, and the bytes of outputs. For the other steps, use
// [History.Output].
type Step struct {
	Number int // of the reply, from 1; a request without a reply has the same number as the next one
	Digest string
	Tokens int64 // of the request, by an estimate; 0 in old versions
	Asked  time.Time

	Reply   *ReplyData // nil: no answer is known
	Actions []Action   // started ones
}

// Action is a command that was started.
type Action struct {
	Command string
	Tool    string      // if there is no command
	Output  *OutputData // nil: it was still running; only the last action can be
}

// forget drops the large data.
func (s *Step) forget() {
	if s.Reply != nil {
		s.Reply.Message, s.Reply.Response = nil, nil
	}
	for _, a := range s.Actions {
		if a.Output != nil {
			a.Output.Kept, a.Output.Shown = nil, ""
		}
	}
}

// Output reads the kept bytes of an action's output from the journal; nil if there is
// no output.
func (h *History) Output(step, action int) ([]byte, error) {
	s, err := h.Source()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	out, _, err := s.Output(OutputRef{step, action})
	return out, err
}

// Last returns the last step if it has a reply and its turn has not ended; otherwise nil.
func (h *History) Last() *Step {
	if n := len(h.Steps); n > h.closed && h.Steps[n-1].Reply != nil {
		return &h.Steps[n-1]
	}
	return nil
}

// LastReply returns the reply of [History.Last]; nil if there is none.
func (h *History) LastReply() *ReplyData {
	if step := h.Last(); step != nil {
		return step.Reply
	}
	return nil
}

// Before returns the steps before [History.Last] that have a reply.
func (h *History) Before() []Step {
	steps := h.Steps
	if h.Last() != nil {
		steps = steps[:len(steps)-1]
	}
	return slices.DeleteFunc(slices.Clone(steps), func(s Step) bool { return s.Reply == nil })
}

// ReadHistory reads an instance's last attempt from the journal at path. It takes no
// lock and changes nothing: for a running instance it returns what is in the file so far.
// Without a journal, or without a whole record in it, the error wraps fs.ErrNotExist.
func ReadHistory(path string) (*History, error) { return readHistory(path, 0, exact) }

// ReadShown is [ReadHistory] of the attempt with a given number, and of what people may read of it and of its
// [Source]; 0 means the last attempt. Without such an attempt the error wraps fs.ErrNotExist.
func ReadShown(path string, number int) (*History, error) {
	return readHistory(path, number, func(path string) (opened, error) { return OpenShown(path) })
}

// opened is an open file.
type opened interface {
	io.ReaderAt
	io.Closer
	Stat() (fs.FileInfo, error)
}

func exact(path string) (opened, error) { return regular.Open(path) }

// readHistory reads the attempt with a given number; 0 means the last.
func readHistory(path string, number int, open func(string) (opened, error)) (*History, error) {
	f, err := open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, atomicfile.Fault("opening a journal", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, atomicfile.Fault("reading a journal", err)
	}
	tail, err := attemptTail(f, info.Size(), number)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	if err == nil {
		var h *History
		if h, err = readAttempt(f, tail); err == nil {
			h.open = func() (io.ReaderAt, io.Closer, error) {
				f, err := open(path)
				return f, f, err
			}
			return h, nil
		}
	}
	return nil, fault.New(fault.KindOf(err), "reading "+path, err)
}

// readAttempt reads the records of the attempt that ends at tail, in order.
func readAttempt(journal io.ReaderAt, tail Tail) (*History, error) {
	r := part(journal, tail.Last.Start, tail.End)
	b := builder{h: &History{Attempt: tail.Last.Attempt, outputs: map[OutputRef]keptOutput{}, replies: map[int]span{}}}
	for {
		l, err := r.next()
		if errors.Is(err, io.EOF) {
			return b.h, nil
		}
		if err != nil {
			return nil, err
		}
		if !l.whole {
			return nil, fault.Newf(fault.Instance, "the record after number %d is damaged", max(0, r.seq))
		}
		rec, err := r.record(&l)
		if err != nil {
			return nil, err
		}
		if err := b.add(&rec, l); err != nil {
			return nil, fault.New(fault.Instance, "reading a record of type "+rec.Type, err)
		}
	}
}

// builder builds a History from records.
type builder struct {
	h         *History
	lastReply lastReply
	before    Record // the record before, without its data; zero while the clock is stopped
	ready     bool   // there is a container to run actions in
	format    int    // format errors in a row, also after the last request

	pending int // rewrites at the end of h.Rewrites that no request follows

	probing bool // the last call that is no step followed a refusal, or was a program's
}

func (b *builder) add(r *Record, line line) error {
	before := b.before.Type
	b.clock(r)
	b.h.Unmasked, b.h.Copies = b.h.Unmasked || r.Masked == 0, b.h.Copies || r.Masked > 0
	switch r.Type {
	case TypeAttempt:
		b.h.Started = r.Time
		b.h.Opened = append(b.h.Opened, r.Data)
	case TypeResume:
		b.h.Opened = append(b.h.Opened, r.Data)
		b.h.Resumed++
		if last := b.h.LastReply(); last != nil { // as the writer does
			b.lastReply = lastReplyIn(last)
		}
		b.again()
	case TypeSession, TypeTurn, TypeTurnEnd, TypeRetry, TypeArtifact, TypeClear:
		return b.turn(r)
	case TypeContainer:
		b.h.Container = &ContainerData{}
		err := json.Unmarshal(r.Data, b.h.Container)
		c := b.h.Container
		b.h.ImageID = c.ImageID
		b.h.Pull, b.h.Start, b.h.Prepare, b.h.Replay = b.h.Pull+c.Pull, b.h.Start+c.Start, b.h.Prepare+c.Prepare, b.h.Replay+c.Replay
		return err
	case TypeDifference:
		b.h.Differences++
	case TypeMessages:
		if len(b.h.Turns) == 0 { // up to version 4, a batch run did not record its turn
			b.h.Turns = []Turn{{TurnData: TurnData{Turn: 1}, Began: b.h.Started}}
		}
		messages, err := b.lastReply.messages(r.Data)
		b.h.Later = append(b.h.Later, messages...)
		return err
	case TypeRewrite:
		w := Rewrite{At: len(b.h.Messages) + len(b.h.Later)}
		err := json.Unmarshal(r.Data, &w.RewriteData)
		b.h.Rewrites, b.pending = append(b.h.Rewrites, w), b.pending+1
		b.h.Summarized = b.h.Summarized || w.Summary != ""
		return err
	case TypeSummaryRequest:
		var d SummaryRequestData
		err := json.Unmarshal(r.Data, &d)
		b.probing = before == TypeRequest || d.Beside
		return err
	case TypeSummary:
		var s SummaryData
		err := json.Unmarshal(r.Data, &s)
		b.h.Summaries = append(b.h.Summaries, s)
		b.h.Summarized = b.h.Summarized || !b.probing
		b.notWorked(s.Reply.Waited)
		return err
	case TypeInterrupt:
		var d InterruptData
		err := json.Unmarshal(r.Data, &d)
		if d.Name == vocab.StatusFormatError {
			b.format++
		}
		return err
	case TypeEnd:
		b.h.End = r.Data
	case TypePrediction:
		b.h.Prediction = r.Data
	case TypeSubmission:
		b.h.Submission = &SubmissionData{}
		return json.Unmarshal(r.Data, b.h.Submission)
	case TypeSalvage:
		b.h.Salvage = &SalvageData{}
		return json.Unmarshal(r.Data, b.h.Salvage)
	default:
		return b.step(r, line)
	}
	return nil
}

// step reads the records of a step.
func (b *builder) step(r *Record, line line) error {
	h := b.h
	switch r.Type {
	case TypeRequest:
		var d RequestData
		if err := json.Unmarshal(r.Data, &d); err != nil {
			return err
		}
		if err := b.commit(); err != nil {
			return err
		}
		if t := h.Turn(); t != nil {
			t.Asked, t.said = true, true
		}
		h.FormatErrors = b.format
		if n := len(h.Steps); n > 0 {
			h.Steps[n-1].forget()
		}
		h.Steps = append(h.Steps, Step{Number: d.Step, Digest: d.Digest, Tokens: d.Tokens, Asked: r.Time})
		return nil
	case TypeReply, TypeAction, TypeOutput:
	default:
		return nil
	}
	if len(h.Steps) == 0 {
		return errors.New("there is no request before it")
	}
	s := &h.Steps[len(h.Steps)-1]
	switch r.Type {
	case TypeReply:
		s.Reply = &ReplyData{}
		h.replies[s.Number] = line.at
		err := s.Reply.UnmarshalJSON(r.Data)
		b.lastReply = lastReplyIn(s.Reply)
		b.notWorked(s.Reply.Waited)
		return err
	case TypeAction:
		var d ActionData
		err := json.Unmarshal(r.Data, &d)
		b.format = 0
		if n := len(s.Actions); n > 0 && s.Actions[n-1].Output == nil {
			s.Actions = s.Actions[:n-1] // it was still running, and is requested again
		}
		s.Actions = append(s.Actions, Action{Command: d.Command, Tool: d.Tool})
		return err
	default:
		n := len(s.Actions)
		if n == 0 {
			return errors.New("there is no action before it")
		}
		out, err := r.Output()
		s.Actions[n-1].Output = &out
		b.lastReply.show(out)
		h.outputs[OutputRef{s.Number, n}] = keptOutput{line.at, out.Total}
		h.Kept += int64(len(out.Kept))
		return err
	}
}

// commit adds the messages after the last request to the conversation, because another
// request was made with them.
func (b *builder) commit() error {
	h := b.h
	sent, at := h.Conversation(), len(h.Messages)
	h.Messages, h.Later = append(h.Messages, h.Later...), nil
	for _, w := range h.Rewrites[len(h.Rewrites)-b.pending:] {
		var err error
		if sent, err = apply(w.Edits, slices.Concat(sent, h.Messages[at:w.At])); err != nil {
			return err
		}
		h.sent, at = sent, w.At
	}
	if h.sent != nil {
		h.sent = slices.Concat(sent, h.Messages[at:])
	}
	b.pending = 0
	return nil
}

// apply returns messages with edits applied. The edits' indexes skip exit messages, which
// are not sent to a model.
func apply(edits []Edit, messages []json.RawMessage) (sent []json.RawMessage, err error) {
	var places []int
	for i, m := range messages {
		if !isExit(m) {
			places = append(places, i)
		}
	}
	at, done := 0, 0 // among the places, and the messages
	for _, e := range edits {
		if e.From < at || e.To < e.From || e.To > len(places) {
			return nil, fmt.Errorf("messages %d to %d of %d were rewritten", e.From, e.To, len(places))
		}
		from := len(messages)
		if e.From < len(places) {
			from = places[e.From]
		}
		sent = slices.Concat(sent, messages[done:from], e.Messages)
		if at, done = e.To, from; e.To > e.From {
			done = places[e.To-1] + 1
		}
	}
	return append(sent, messages[done:]...), nil
}

// isExit reports whether a message ends a turn.
func isExit(message json.RawMessage) bool {
	var m struct{ Role string }
	return bytes.Contains(message, []byte(`"exit"`)) && json.Unmarshal(message, &m) == nil && m.Role == "exit"
}

// again forgets what followed the last request and will be recorded again.
func (b *builder) again() {
	b.h.Later, b.h.End = nil, nil
	b.h.Rewrites, b.pending = b.h.Rewrites[:len(b.h.Rewrites)-b.pending], 0
	b.h.Submission, b.h.Prediction = nil, nil
	b.format = b.h.FormatErrors
}

// clock adds the time since the record before to the working time: model calls and
// commands. The clock is stopped until the attempt, or its resume, has its container,
// except for calls, which may be made earlier; during a call that got no answer; and while
// an answered call waited for a rate limit or a retry.
func (b *builder) clock(r *Record) {
	switch r.Type {
	case TypeTry, TypeUnpaid, TypeLost: // they come between a request and its reply
		return
	}
	switch r.Type {
	case TypeAttempt, TypeResume, TypeDifference, TypeEnd:
		b.before, b.ready = Record{}, false
		return
	case TypeContainer:
		b.ready = true
	default:
		answered := r.Type == TypeReply || r.Type == TypeSummary
		unanswered := (b.before.Type == TypeRequest || b.before.Type == TypeSummaryRequest) && !answered
		if !b.before.Time.IsZero() && !unanswered && (b.ready || answered) {
			b.h.Elapsed += b.since(r)
		}
	}
	b.before = Record{Type: r.Type, Time: r.Time}
}

// notWorked takes seconds of waiting off the time worked.
func (b *builder) notWorked(seconds float64) {
	b.h.Elapsed = max(0, b.h.Elapsed-time.Duration(seconds*float64(time.Second)))
}

// clockSlack is how much time beyond the measured work may pass between two records.
const clockSlack = time.Minute

// since returns the time from the record before to r. If that time is not plausible,
// because the clock was set or the machine slept, it returns the measured duration of
// r's work, which the run itself used.
func (b *builder) since(r *Record) time.Duration {
	gap := r.Time.Sub(b.before.Time)
	if 0 <= gap && gap <= clockSlack {
		return gap
	}
	var work struct {
		Seconds float64 `json:"seconds"`
		Reply   struct {
			Seconds float64 `json:"seconds"`
		} `json:"reply"` // of a call that is no step
	}
	_ = json.Unmarshal(r.Data, &work) // without it, nothing was measured
	if measured := time.Duration((work.Seconds + work.Reply.Seconds) * float64(time.Second)); gap < 0 || gap > measured+clockSlack {
		return measured
	}
	return gap
}
