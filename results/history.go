package results

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"batch.example/batch/fault"
)

// History is what the journal tells of an instance's last attempt, resumes
// included. What it holds is the caller's.
type History struct {
	Attempt int
	Started time.Time
	Resumed int     // times that the attempt was gone on with
	End     *Record // how it ended, or was last stopped; nil while it runs and after a crash

	// Container holds everything that the recorded actions did, if it still
	// lives; nil when none does: it was removed, or an action may have run half.
	Container *ContainerData

	// Messages is the conversation up to the last request, as it stands in the
	// trajectory. What came after it follows from the last step.
	Messages     []json.RawMessage
	Later        []json.RawMessage // messages behind the last request
	FormatErrors int               // in a row, up to the last request

	Steps       []Step        // every request, in order
	Differences int           // outputs that were others when their actions ran again
	Elapsed     time.Duration // of work: without set-up, and without the time from a crash to the resume
}

// Step is one request and what came of it.
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
	Masked  bool        // Command held a secret, and is not what was executed
	Output  *OutputData // nil: it may have run half
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

// History is [ReadHistory] of the store's directory.
func (s *Store) History(id string) (*History, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	return ReadHistory(s.dir, id)
}

// ReadHistory reads an instance's last attempt from its journal in a run
// directory. It takes no lock and changes nothing: of an instance that is
// running it tells what is in the file. Without a journal, or without a whole
// record in it, the error wraps fs.ErrNotExist.
func ReadHistory(dir, id string) (*History, error) {
	path := filepath.Join(dir, id, journalFile)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, diskFault("opening a journal", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, diskFault("reading a journal", err)
	}
	tail, err := readTail(f, info.Size())
	if err == nil && tail.last.Seq == 0 {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	if err == nil {
		var h *History
		if h, err = readAttempt(f, tail); err == nil {
			return h, nil
		}
	}
	return nil, fault.New(fault.KindOf(err), "reading "+path, err)
}

// readAttempt reads the records of the last attempt in order.
func readAttempt(r io.ReaderAt, tail journalTail) (*History, error) {
	in := bufio.NewReaderSize(io.NewSectionReader(r, tail.last.Start, tail.end-tail.last.Start), journalBuffer)
	b := historian{h: &History{Attempt: tail.last.Attempt}}
	for seq := int64(0); ; {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return b.finish(), nil
		}
		if err != nil {
			return nil, diskFault("reading a journal", err)
		}
		line = line[:len(line)-1]
		if !intact(line) {
			return nil, fault.Newf(fault.Instance, "the record behind number %d is damaged", seq)
		}
		rec, err := decodeRecord(line)
		if err != nil {
			return nil, err
		}
		if seq > 0 && rec.Seq != seq+1 {
			return nil, fault.Newf(fault.Instance, "record %d follows record %d", rec.Seq, seq)
		}
		seq = rec.Seq
		if err := b.add(&rec); err != nil {
			return nil, fault.New(fault.Instance, "reading a record of type "+rec.Type, err)
		}
	}
}

// historian puts records together to a History.
type historian struct {
	h    *History
	last time.Time // of the record before; zero where the clock stood still

	format int // format errors in a row, those behind the last request included
}

func (b *historian) add(r *JournalRecord) error {
	b.clock(r)
	switch r.Type {
	case TypeAttempt:
		b.h.Started = r.Time
	case TypeResume:
		b.resume()
	case TypeContainer:
		b.h.Container = &ContainerData{}
		return json.Unmarshal(r.Data, b.h.Container)
	case TypeDifference:
		b.h.Differences++
	case TypeMessages:
		var d MessagesData
		err := json.Unmarshal(r.Data, &d)
		b.h.Later = append(b.h.Later, d.Messages...)
		return err
	case TypeInterrupt:
		var d InterruptData
		err := json.Unmarshal(r.Data, &d)
		if d.Name == formatError {
			b.format++
		}
		return err
	case TypeEnd:
		var d endData
		err := json.Unmarshal(r.Data, &d)
		b.h.End, b.h.Container = &d.Record, nil // the sandbox was removed before
		return err
	default:
		return b.step(r)
	}
	return nil
}

// formatError is the name of the interrupt that counts in a row.
const formatError = "FormatError"

// step reads the records of a step.
func (b *historian) step(r *JournalRecord) error {
	h := b.h
	switch r.Type {
	case TypeRequest:
		var d RequestData
		if err := json.Unmarshal(r.Data, &d); err != nil {
			return err
		}
		h.Messages, h.Later = append(h.Messages, h.Later...), nil
		h.FormatErrors = b.format
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
		return json.Unmarshal(r.Data, s.Reply)
	case TypeAction:
		var d ActionData
		err := json.Unmarshal(r.Data, &d)
		b.format = 0
		if n := len(s.Actions); n > 0 && s.Actions[n-1].Output == nil {
			s.Actions = s.Actions[:n-1] // it may have run half, and runs again
		}
		s.Actions = append(s.Actions, Action{Command: d.Command, Masked: d.Masked})
		return err
	default:
		n := len(s.Actions)
		if n == 0 {
			return errors.New("there is no action before it")
		}
		s.Actions[n-1].Output = &OutputData{}
		return json.Unmarshal(r.Data, s.Actions[n-1].Output)
	}
}

// resume forgets what followed the last request and is told again.
func (b *historian) resume() {
	b.h.Resumed++
	b.h.Later, b.h.End = nil, nil
	b.format = b.h.FormatErrors
}

// clock adds the time since the record before. It stands while nothing is
// worked on: until the attempt, or what goes on with it, has its container.
func (b *historian) clock(r *JournalRecord) {
	switch r.Type {
	case TypeContainer:
		b.last = r.Time
	case TypeAttempt, TypeResume, TypeDifference, TypeEnd:
		b.last = time.Time{}
	default:
		if !b.last.IsZero() {
			b.h.Elapsed += max(0, r.Time.Sub(b.last))
			b.last = r.Time
		}
	}
}

// finish knows what only the end shows.
func (b *historian) finish() *History {
	h := b.h
	if len(h.Steps) == 0 {
		return h
	}
	actions := h.Steps[len(h.Steps)-1].Actions
	if n := len(actions); n > 0 && actions[n-1].Output == nil {
		h.Container = nil
	}
	return h
}
