package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/vocab"
)

// History is what the journal tells of an instance's last attempt, resumes
// included. What it holds is the caller's.
type History struct {
	Attempt int
	Started time.Time
	Resumed int             // times that the attempt was resumed
	End     json.RawMessage // data of the record by which it ended, or was last stopped; nil while it runs and after a crash

	// Opened is the data of the records that began the attempt, and resumed it.
	Opened []json.RawMessage

	// What the attempt handed in, and what the records before its end kept; gone when it
	// is resumed, but for the salvage: that stands until another record tells of one.
	Submission *SubmissionData
	Salvage    *SalvageData
	Prediction json.RawMessage

	// Container holds everything that the recorded actions did, if it still lives, and
	// knows an action that was under way by its step and number; nil before there was one.
	Container *ContainerData

	ImageID string // of the container that the recorded actions ran in last

	// Messages is the conversation up to the last request, as it stands in the
	// trajectory. What came after it follows from the last step.
	Messages     []json.RawMessage
	Later        []json.RawMessage // messages behind the last request
	FormatErrors int               // in a row, up to the last request

	sent []json.RawMessage // the conversation as the last request had it, where a rewrite made that another one

	Steps       []Step        // every request, in order
	Differences int           // outputs that were others when their actions ran again
	Elapsed     time.Duration // of work: see builder.clock
	Kept        int64         // bytes of outputs that the journal holds, about

	path    string // of the journal
	outputs map[OutputRef]keptOutput
	replies map[int]span // by step
}

// Conversation is what the model was sent with the last request: Messages, but for
// what was rewritten.
func (h *History) Conversation() []json.RawMessage {
	if h.sent != nil {
		return h.sent
	}
	return h.Messages
}

// Source reads what a [History] only refers to.
type Source struct {
	h *History
	f *os.File
}

// Source opens the journal to read from it. The caller must Close it.
func (h *History) Source() (*Source, error) {
	f, err := os.Open(h.path)
	return &Source{h, f}, atomicfile.Fault("opening a journal", err)
}

// Close closes the journal.
func (s *Source) Close() error { return s.f.Close() }

// Output reads what is kept of an action's output, and how many bytes it had; of one
// that has none it is nil.
func (s *Source) Output(ref OutputRef) (output []byte, total int64, err error) {
	kept, ok := s.h.outputs[ref]
	if !ok {
		return nil, 0, nil
	}
	output, err = readOutput(s.f, kept.base64)
	return output, kept.total, err
}

// Response reads the provider's answer to a step; nil where none is known.
func (s *Source) Response(step int) (json.RawMessage, error) {
	line, ok := s.h.replies[step]
	if !ok {
		return nil, nil
	}
	rec, err := RecordAt(s.f, line.from, line.to+1)
	if err != nil {
		return nil, err
	}
	var reply ReplyData
	err = json.Unmarshal(rec.Data, &reply)
	return reply.Response, err
}

// keptOutput says where an action's output stands, and how many bytes it had.
type keptOutput struct {
	base64 span
	total  int64
}

// OutputRef names an action's output: the step and the action, both from 1.
type OutputRef struct {
	Step   int `json:"step"`
	Action int `json:"action"`
}

// Step is one request and what came of it. What is large is there of
// [History.Last] alone: the reply's message and response, and the outputs' bytes,
// for which there is [History.Output].
type Step struct {
	Number int // of the reply, from 1; a request that got none and the one after it have the same
	Digest string
	Asked  time.Time

	Reply   *ReplyData // nil: no answer is known
	Actions []Action   // those that were started
}

// Action is a command that was started.
type Action struct {
	Command string
	Output  *OutputData // nil: it was under way, as the last action there is
}

// forget drops what is large.
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

// Output reads from the journal what is kept of an action's output; of one that
// has none it is nil.
func (h *History) Output(step, action int) ([]byte, error) {
	s, err := h.Source()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	out, _, err := s.Output(OutputRef{step, action})
	return out, err
}

// Last returns the last step that has a reply and that nothing was asked
// after, or nil.
func (h *History) Last() *Step {
	if n := len(h.Steps); n > 0 && h.Steps[n-1].Reply != nil {
		return &h.Steps[n-1]
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

// ReadHistory reads an instance's last attempt from the journal at path. It takes no lock and changes nothing: of an instance that is
// running it tells what is in the file. Without a journal, or without a whole
// record in it, the error wraps fs.ErrNotExist.
func ReadHistory(path string) (*History, error) {
	f, err := os.Open(path)
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
	tail, err := TailAt(f, info.Size())
	if err == nil && tail.Last.Seq == 0 {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	if err == nil {
		var h *History
		if h, err = readAttempt(f, tail); err == nil {
			h.path = path
			return h, nil
		}
	}
	return nil, fault.New(fault.KindOf(err), "reading "+path, err)
}

// readAttempt reads the records of the last attempt in order.
func readAttempt(journal io.ReaderAt, tail Tail) (*History, error) {
	r := part(journal, tail.Last.Start, tail.End)
	b := builder{h: &History{Attempt: tail.Last.Attempt, outputs: map[OutputRef]keptOutput{}, replies: map[int]span{}}}
	for {
		l, err := r.next()
		if errors.Is(err, io.EOF) {
			return b.finish(journal)
		}
		if err != nil {
			return nil, err
		}
		if !l.whole {
			return nil, fault.Newf(fault.Instance, "the record behind number %d is damaged", max(0, r.seq))
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

// builder puts records together to a History.
type builder struct {
	h      *History
	heard  heard
	before Record // without its data; of no type where the clock stood still
	ready  bool   // there is a container to act in
	format int    // format errors in a row, those behind the last request included

	rewrite   *RewriteData // of the request that follows
	rewriteAt int          // how many of h.Later were there before it
}

func (b *builder) add(r *Record, line line) error {
	b.clock(r)
	switch r.Type {
	case TypeAttempt:
		b.h.Started = r.Time
		b.h.Opened = append(b.h.Opened, r.Data)
	case TypeResume:
		b.h.Opened = append(b.h.Opened, r.Data)
		b.resume()
	case TypeContainer:
		b.h.Container = &ContainerData{}
		err := json.Unmarshal(r.Data, b.h.Container)
		b.h.ImageID = b.h.Container.ImageID
		return err
	case TypeDifference:
		b.h.Differences++
	case TypeMessages:
		messages, err := b.heard.messages(r.Data)
		b.h.Later = append(b.h.Later, messages...)
		return err
	case TypeRewrite:
		b.rewrite, b.rewriteAt = &RewriteData{}, len(b.h.Later)
		return json.Unmarshal(r.Data, b.rewrite)
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
		h.FormatErrors = b.format
		if n := len(h.Steps); n > 0 {
			h.Steps[n-1].forget()
		}
		h.Steps = append(h.Steps, Step{Number: d.Step, Digest: d.Digest, Asked: r.Time})
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
		err := json.Unmarshal(r.Data, s.Reply)
		b.heard = heardIn(s.Reply)
		h.Elapsed = max(0, h.Elapsed-time.Duration(s.Reply.Waited*float64(time.Second)))
		return err
	case TypeAction:
		var d ActionData
		err := json.Unmarshal(r.Data, &d)
		b.format = 0
		if n := len(s.Actions); n > 0 && s.Actions[n-1].Output == nil {
			s.Actions = s.Actions[:n-1] // it was under way, and is asked for again
		}
		s.Actions = append(s.Actions, Action{Command: d.Command})
		return err
	default:
		n := len(s.Actions)
		if n == 0 {
			return errors.New("there is no action before it")
		}
		out := &OutputData{}
		s.Actions[n-1].Output = out
		err := json.Unmarshal(r.Data, out)
		h.outputs[OutputRef{s.Number, n}] = keptOutput{line.output, out.Total}
		h.Kept += (line.output.to - line.output.from) / 4 * 3
		return err
	}
}

// commit makes what came behind the last request a part of the conversation: another
// request was made with it.
func (b *builder) commit() error {
	h, w := b.h, b.rewrite
	b.rewrite = nil
	if h.sent != nil || w != nil {
		h.sent = slices.Concat(h.Conversation(), h.Later)
	}
	h.Messages, h.Later = append(h.Messages, h.Later...), nil
	if w == nil {
		return nil
	}
	if w.From < 0 || w.To < w.From || w.To > len(h.sent) {
		return fmt.Errorf("messages %d to %d of %d were rewritten", w.From, w.To, len(h.sent))
	}
	h.sent = slices.Concat(h.sent[:w.From], w.Messages, h.sent[w.To:])
	h.Messages = append(h.Messages, w.Messages...)
	return nil
}

// resume forgets what followed the last request and is told again.
func (b *builder) resume() {
	b.h.Resumed++
	b.h.Later, b.h.End, b.rewrite = nil, nil, nil
	b.h.Submission, b.h.Prediction = nil, nil
	b.format = b.h.FormatErrors
}

// clock adds the time since the record before, which is work: thinking and
// commands. It stands while nothing is worked on: until the attempt, or its resume,
// has its container, but for calls, which may be made before; over a call that got no
// answer; and while the call that got one waited for a rate limit or to be made again.
func (b *builder) clock(r *Record) {
	if r.Type == TypeLost { // it stands between a request and its reply
		return
	}
	switch r.Type {
	case TypeAttempt, TypeResume, TypeDifference, TypeEnd:
		b.before, b.ready = Record{}, false
		return
	case TypeContainer:
		b.ready = true
	default:
		unanswered := b.before.Type == TypeRequest && r.Type != TypeReply
		if !b.before.Time.IsZero() && !unanswered && (b.ready || r.Type == TypeReply) {
			b.h.Elapsed += b.since(r)
		}
	}
	b.before = Record{Type: r.Type, Time: r.Time}
}

// clockSlack is what may lie between two records beside the work that was measured.
const clockSlack = time.Minute

// since returns how long it is from the record before to r. Where that cannot be,
// since somebody set the clock or the machine slept, it is how long the work of r was
// measured to be, which the run itself went by.
func (b *builder) since(r *Record) time.Duration {
	gap := r.Time.Sub(b.before.Time)
	if 0 <= gap && gap <= clockSlack {
		return gap
	}
	var work struct {
		Seconds float64 `json:"seconds"`
	}
	_ = json.Unmarshal(r.Data, &work) // of a record that has none, nothing was measured
	if measured := time.Duration(work.Seconds * float64(time.Second)); gap < 0 || gap > measured+clockSlack {
		return measured
	}
	return gap
}

// finish knows what only the end shows.
func (b *builder) finish(journal io.ReaderAt) (*History, error) {
	h := b.h
	if w := b.rewrite; w != nil { // no request followed it: it is told, and not sent
		h.Later = slices.Insert(h.Later, b.rewriteAt, w.Messages...)
	}
	if len(h.Steps) == 0 {
		return h, nil
	}
	last := &h.Steps[len(h.Steps)-1]
	for i, a := range last.Actions {
		if a.Output == nil {
			break // the last one: it was under way
		}
		bytes, err := readOutput(journal, h.outputs[OutputRef{last.Number, i + 1}].base64)
		if err != nil {
			return nil, err
		}
		a.Output.Kept = bytes
	}
	return h, nil
}
