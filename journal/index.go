package journal

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/regular"
)

const (
	indexBlock = 1 << 20  // of a journal, read at once
	headMost   = 32 << 10 // of a line, looked at
	known      = 64       // bytes before the end of the index, by which a replaced file is noticed
)

var blocks = sync.Pool{New: func() any { return new([indexBlock]byte) }}

// Index knows where the steps of a journal's attempts are: about 200 bytes for each step. It reads the file
// once, then what is appended, and only the beginning of each record; a record's checksum is verified when
// the record itself is read. A torn end is not an error. Damage elsewhere is a [Problem], and the other
// records are still read. It takes no lock and changes nothing. It is safe for concurrent use.
type Index struct {
	path string

	mu   sync.RWMutex
	file fs.FileInfo // the file that was read
	state
	torn []Problem // whole lines after the last record
}

// state has what the index has read.
type state struct {
	at       int64  // end of the last whole line
	before   []byte // the bytes before at
	last     int64  // seq of the last record
	lastAt   int64  // offset of its line
	lost     int64  // offset of a line that was damaged since, plus 1; 0: none
	attempts []*Attempt
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
	switch was := x.file; {
	case was == nil:
	case !x.state.continues(f, was, info):
		x.state, changed = state{}, true
	case info.Size() == was.Size() && info.ModTime().Equal(was.ModTime()):
		return false, nil // the last record need not be verified again
	}
	tail, err := TailAt(f, info.Size()) // a crash may have torn lines after it
	if err != nil {
		return changed, err
	}
	from := x.at
	if err = x.read(f, tail.End); err == nil {
		x.torn, err = tornLine(f, tail)
	}
	if err == nil { // otherwise the next Update tries again
		x.file = info
	}
	return changed || x.at > from, err
}

// tornLine returns a Problem if a line after the end of a journal has its newline.
func tornLine(f io.ReaderAt, tail Tail) ([]Problem, error) {
	back := backward{from: f}
	newline, err := back.newline(tail.End + tail.Torn)
	if err != nil || newline < tail.End {
		return nil, err
	}
	return []Problem{{tail.End, "a record is damaged"}}, nil
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
	buf := blocks.Get().(*[indexBlock]byte)
	defer blocks.Put(buf)
	var head []byte // the beginning of a line that began in an earlier block
	for at := s.at; at < size; {
		n, err := f.ReadAt(buf[:min(indexBlock, size-at)], at)
		if err != nil && !errors.Is(err, io.EOF) {
			return atomicfile.Fault("reading a journal", err)
		}
		if n == 0 {
			break // it was cut meanwhile: the next Update notices
		}
		head = s.lines(f, buf[:n], at, head)
		at += int64(n)
	}
	return s.remember(f)
}

// lines reads the lines in a block at an offset. It returns the beginning of the last one,
// if that does not end there.
func (s *state) lines(f io.ReaderAt, text []byte, at int64, head []byte) []byte {
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
		s.line(f, line[:min(len(line), headMost)], s.at, end-1)
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
func (s *state) line(f io.ReaderAt, head []byte, at, to int64) {
	r, ok := Head(head)
	if n := len(s.attempts); ok && (n == 0 || s.attempts[n-1].Number != r.Attempt) { // a damaged number must not divide an attempt
		whole, err := intactAt(f, at, to)
		ok = err == nil && whole
	}
	switch {
	case !ok:
		if s.lost == 0 {
			s.problems, s.lost = append(s.problems, Problem{at, "a record is damaged"}), at+1
		}
		return
	case s.last > 0 && r.Seq != s.last+1 && s.lost == 0:
		s.problems = append(s.problems, Problem{at, "a record is missing before it"})
	}
	from := at
	switch {
	case s.lost > 0:
		from = s.lost - 1
	case r.Type != TypeAttempt:
		from = s.lastAt
	}
	s.last, s.lost, s.lastAt = r.Seq, 0, at
	n := len(s.attempts)
	if n == 0 || s.attempts[n-1].Number != r.Attempt {
		if n > 0 {
			s.attempts[n-1].to = at
		}
		s.attempts = append(s.attempts, &Attempt{Number: r.Attempt, from: from, end: -1})
		n++
	}
	a := s.attempts[n-1]
	a.Unmasked = a.Unmasked || r.Masked == 0
	a.add(&r, at)
}

// Attempt returns an attempt as of the last Update; number 0 or less: the last one. Without it the error
// wraps fs.ErrNotExist.
func (x *Index) Attempt(number int) (*Attempt, error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, a := range slices.Backward(x.attempts) {
		if number > 0 && a.Number != number {
			continue
		}
		own := *a
		own.Steps, own.Turns = slices.Clone(a.Steps), slices.Clone(a.Turns)
		own.places, own.differences = slices.Clone(a.places), slices.Clone(a.differences)
		own.path, own.file, own.size = x.path, x.file, x.at
		return &own, nil
	}
	return nil, &fs.PathError{Op: "read", Path: x.path, Err: fs.ErrNotExist}
}

// States returns the state of each attempt.
func (x *Index) States() (list []AttemptState) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, a := range x.attempts {
		list = append(list, AttemptState{
			Number: a.Number, Steps: len(a.Steps), Began: a.Began, Last: a.Last, Ended: a.Ended(), Reset: a.Reset, Cost: a.Cost,
			Unmasked: a.Unmasked,
		})
	}
	return list
}

// Problems returns the damage that was read around.
func (x *Index) Problems() []Problem {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.Concat(x.problems, x.torn)
}

// seconds returns the seconds between two times; 0 if one is unknown.
func seconds(from, to time.Time) float64 {
	if from.IsZero() || to.IsZero() {
		return 0
	}
	return max(0, to.Sub(from).Seconds())
}
