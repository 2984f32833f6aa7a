package journal

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
)

// span is a place in a journal, in bytes.
type span struct{ from, to int64 }

// line is one line of a journal.
type line struct {
	text   []byte // without its newline; valid until the next line is read
	at     span   // of text
	number int    // from 1, in the part that is read
	whole  bool   // ends with a newline and has the right checksum
}

// reader reads a part of a journal line by line. Every function that reads a journal,
// whole, from an offset or from the end, uses it.
type reader struct {
	in     *bufio.Reader
	at     int64
	number int
	seq    int64  // of the record before; anyRecord if any may come first
	long   []byte // a line that is longer than in's buffer
	shown  *Shown // not nil: for people
}

const anyRecord = -1

// whole reads a journal from its beginning.
func whole(r io.Reader) *reader {
	return &reader{in: bufio.NewReaderSize(r, journalBuffer)}
}

// part reads the bytes from from to to.
func part(r io.ReaderAt, from, to int64) *reader {
	in := bufio.NewReaderSize(io.NewSectionReader(r, from, to-from), int(min(to-from, journalBuffer)))
	shown, _ := r.(*Shown)
	return &reader{in: in, at: from, seq: anyRecord, shown: shown}
}

// next returns the next line, or io.EOF.
func (r *reader) next() (line, error) {
	text, err := r.read()
	if err != nil && !errors.Is(err, io.EOF) {
		return line{}, atomicfile.Fault("reading a journal", err)
	}
	if len(text) == 0 {
		return line{}, io.EOF
	}
	r.number++
	l := line{number: r.number, at: span{r.at, r.at + int64(len(text))}}
	r.at = l.at.to
	l.text, l.whole = bytes.CutSuffix(text, []byte("\n"))
	l.at.to = l.at.from + int64(len(l.text))
	l.whole = l.whole && intact(l.text)
	return l, nil
}

// record decodes a whole line. Its record must follow the previous one.
func (r *reader) record(l *line) (Record, error) {
	rec, err := decodeRecord(l.text)
	if err != nil {
		return rec, err
	}
	if r.seq != anyRecord && rec.Seq != r.seq+1 {
		return rec, fault.Newf(fault.Instance, "record %d follows record %d: a record is missing", rec.Seq, r.seq)
	}
	r.seq = rec.Seq
	if r.shown != nil {
		return r.shown.Record(rec)
	}
	return rec, nil
}

// read returns the next line with its newline; the last one may have none.
func (r *reader) read() ([]byte, error) {
	text, err := r.in.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return text, err
	}
	r.long = append(r.long[:0], text...)
	for errors.Is(err, bufio.ErrBufferFull) {
		text, err = r.in.ReadSlice('\n')
		r.long = append(r.long, text...)
	}
	return r.long, err
}

// outputMember is the last member of an output record's data.
const outputMember = `,"output":"`
