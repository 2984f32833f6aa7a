package steps

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/regular"
	"batch.example/batch/journal"
)

const (
	block    = 1 << 20  // of a journal, read at once
	headMost = 32 << 10 // of a line, looked at
	known    = 64       // bytes before the end of the index, by which a replaced file is noticed
)

var blocks = sync.Pool{New: func() any { return new([block]byte) }}

// Index knows where the steps of a journal's attempts are. It is safe for concurrent use.
type Index struct {
	path string

	mu   sync.RWMutex
	file fs.FileInfo // the file that was read
	state
}

// state has what the index has read.
type state struct {
	at       int64  // end of the last whole line
	before   []byte // the bytes before at
	last     int64  // seq of the last record
	lost     bool   // a line was damaged since
	attempts []*attempt
	problems []Problem
}

// NewIndex reads the journal at path. Without it the error wraps fs.ErrNotExist.
func NewIndex(path string) (*Index, error) {
	x := &Index{path: path}
	_, err := x.Update()
	return x, err
}

// Update reads what was appended to the file, and reports whether there was anything new. If
// the file was replaced, or cut before the end of what was read, it reads all of it again.
func (x *Index) Update() (changed bool, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	f, err := regular.Open(x.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if err != nil {
		return false, atomicfile.Fault("opening a journal", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, atomicfile.Fault("reading a journal", err)
	}
	if x.file != nil && !x.state.continues(f, x.file, info) {
		x.state, changed = state{}, true
	}
	from := x.at
	x.file = info
	err = x.read(f, info.Size())
	return changed || x.at > from, err
}

// continues reports whether a file begins with what was read.
func (s *state) continues(f io.ReaderAt, was, is fs.FileInfo) bool {
	if !os.SameFile(was, is) || is.Size() < s.at {
		return false
	}
	now := make([]byte, len(s.before))
	_, err := f.ReadAt(now, s.at-int64(len(now)))
	return (err == nil || errors.Is(err, io.EOF)) && bytes.Equal(now, s.before)
}

// read reads the lines up to size.
func (s *state) read(f io.ReaderAt, size int64) error {
	buf := blocks.Get().(*[block]byte)
	defer blocks.Put(buf)
	var head []byte // the beginning of a line that began in an earlier block
	for at := s.at; at < size; {
		n, err := f.ReadAt(buf[:min(block, size-at)], at)
		if err != nil && !errors.Is(err, io.EOF) {
			return atomicfile.Fault("reading a journal", err)
		}
		if n == 0 {
			break // it was cut meanwhile: the next Update notices
		}
		head = s.lines(buf[:n], at, head)
		at += int64(n)
	}
	return s.remember(f)
}

// lines reads the lines in a block at an offset. It returns the beginning of the last one,
// if that does not end there.
func (s *state) lines(text []byte, at int64, head []byte) []byte {
	for len(text) > 0 {
		n := bytes.IndexByte(text, '\n')
		line := text
		if n >= 0 {
			line = text[:n]
		}
		if len(head) > 0 || n < 0 {
			head = append(head, line[:max(0, min(len(line), headMost-len(head)))]...)
		}
		if n < 0 {
			return head
		}
		end := at + int64(n) + 1
		if len(head) > 0 {
			line = head
		}
		s.line(line[:min(len(line), headMost)], s.at)
		s.at, head = end, head[:0]
		at, text = end, text[n+1:]
	}
	return head
}

// remember keeps the bytes before the end, to recognize the file.
func (s *state) remember(f io.ReaderAt) error {
	s.before = make([]byte, min(known, s.at))
	_, err := f.ReadAt(s.before, s.at-int64(len(s.before)))
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return atomicfile.Fault("reading a journal", err)
}

// line reads the beginning of the line at an offset.
func (s *state) line(head []byte, at int64) {
	r, ok := journal.Head(head)
	switch {
	case !ok:
		if !s.lost {
			s.problems = append(s.problems, Problem{at, "a record is damaged"})
		}
		s.lost = true
		return
	case s.last > 0 && r.Seq != s.last+1 && !s.lost:
		s.problems = append(s.problems, Problem{at, "a record is missing before it"})
	}
	s.last, s.lost = r.Seq, false
	n := len(s.attempts)
	if n == 0 || s.attempts[n-1].number != r.Attempt {
		if n > 0 {
			s.attempts[n-1].to = at
		}
		s.attempts = append(s.attempts, &attempt{number: r.Attempt, from: at, end: -1})
		n++
	}
	a := s.attempts[n-1]
	a.unmasked = a.unmasked || r.Masked == 0
	a.add(&r, at)
}

// attempt returns an attempt by its number; 0 or less: the last. x.mu is held.
func (x *Index) attempt(number int) (*attempt, error) {
	for i := len(x.attempts) - 1; i >= 0; i-- {
		if a := x.attempts[i]; number <= 0 || a.number == number {
			return a, nil
		}
	}
	return nil, &fs.PathError{Op: "read", Path: x.path, Err: fs.ErrNotExist}
}

// open opens the file that was indexed, for people. x.mu is held.
func (x *Index) open() (*journal.Shown, error) {
	f, err := journal.OpenShown(x.path)
	if err != nil {
		return nil, atomicfile.Fault("opening a journal", err)
	}
	info, err := f.Stat()
	if err == nil && (!os.SameFile(info, x.file) || info.Size() < x.at) {
		err = fault.Newf(fault.Instance, "%s was replaced while it was read: read it again", x.path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Steps returns how many steps an attempt has; number 0: the last attempt.
func (x *Index) Steps(number int) int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	a, err := x.attempt(number)
	if err != nil {
		return 0
	}
	return len(a.steps)
}

// attempts returns the state of each attempt. x.mu is held.
func (s *state) states() (list []AttemptState) {
	for _, a := range s.attempts {
		list = append(list, AttemptState{
			Number: a.number, Steps: len(a.steps), Began: a.began, Last: a.last, Ended: a.end >= 0, Reset: a.reset, Cost: a.cost,
			Unmasked: a.unmasked,
		})
	}
	return list
}

// seconds returns the seconds between two times; 0 if one is unknown.
func seconds(from, to time.Time) float64 {
	if from.IsZero() || to.IsZero() {
		return 0
	}
	return max(0, to.Sub(from).Seconds())
}
