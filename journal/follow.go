package journal

import (
	"bufio"
	"errors"
	"io"

	"batch.example/batch/fault"
)

// Follower reads an attempt's records while they are written, to keep a copy of their
// content elsewhere, such as in the tables of a database. Use [NewFollower].
type Follower struct {
	b   builder
	seq int64
	at  int64
}

// NewFollower returns a Follower that has read nothing. The journal must hold one attempt.
func NewFollower() *Follower {
	f := &Follower{seq: anyRecord}
	f.b.h = &History{outputs: map[OutputRef]keptOutput{}, replies: map[int]span{}}
	return f
}

// Read reads the records in the next size bytes, which are whole lines, and calls each after
// each record. After an error the Follower cannot be used any more.
func (f *Follower) Read(lines io.Reader, size int64, each func(*Record)) error {
	in := bufio.NewReaderSize(lines, int(min(size, journalBuffer)))
	r := &reader{in: in, at: f.at, seq: f.seq}
	for {
		l, err := r.next()
		if errors.Is(err, io.EOF) {
			f.at, f.seq = r.at, r.seq
			return nil
		}
		if err != nil {
			return err
		}
		if !l.whole {
			return fault.Newf(fault.Instance, "the record after number %d is damaged", max(0, r.seq))
		}
		rec, err := r.record(&l)
		if err != nil {
			return err
		}
		f.b.h.Attempt = rec.Attempt
		if err := f.b.add(&rec, l); err != nil {
			return fault.New(fault.Instance, "reading a record of type "+rec.Type, err)
		}
		each(&rec)
	}
}

// History returns the history read so far, without a [Source]. It changes with the next
// Read.
func (f *Follower) History() *History { return f.b.h }

// Forget drops the content of the messages and artifacts that were read so far. The History
// still counts them.
func (f *Follower) Forget() {
	h := f.b.h
	clear(h.Messages)
	clear(h.Later)
	clear(h.sent)
	for i := range h.Artifacts {
		h.Artifacts[i].Data = nil
	}
}
