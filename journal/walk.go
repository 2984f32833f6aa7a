package journal

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"sync"

	"batch.example/batch/fault"
)

// Head reads the beginning of a record's line, which may be cut anywhere in its data: the
// members before the data, and as Data what there is of the data and after it. It does not
// verify the checksum. ok is false for a line that does not begin as this package writes it.
// Data is a part of line.
func Head(line []byte) (r Record, ok bool) {
	head, data, found := bytes.Cut(line, []byte(dataMember))
	if !found {
		return Record{}, false
	}
	if r, ok = readHead(string(head)); ok {
		r.Data = data
	}
	return r, ok
}

// Walk calls fn for each line between two offsets, where lines begin. r is nil for a line
// that is damaged, or has another tool's form. Its Data may be used only during the call.
// The last line may be torn. Walk ends when fn fails, and returns its error.
func Walk(journal io.ReaderAt, from, to int64, fn func(r *Record, at Place) error) error {
	lines := walkers.Get().(*reader)
	defer walkers.Put(lines)
	lines.in.Reset(io.NewSectionReader(journal, from, to-from))
	lines.at, lines.number, lines.seq = from, 0, anyRecord
	lines.shown, _ = journal.(*Shown)
	if cap(lines.long) > longKept {
		lines.long = nil
	}
	for {
		l, err := lines.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var rec *Record
		if l.whole {
			r, err := decodeInPlace(l.text)
			if err == nil && lines.shown != nil {
				r, err = lines.shown.Record(r)
			}
			if err == nil {
				rec = &r
			} else if fault.KindOf(err) == fault.Usage { // of a newer version
				return err
			}
		}
		if err := fn(rec, Place(l.at.from)); err != nil {
			return err
		}
	}
}

// walkers keep their buffers: a search walks through hundreds of journals.
var walkers = sync.Pool{New: func() any { return &reader{in: bufio.NewReaderSize(nil, journalBuffer)} }}

const longKept = 4 << 20

// attemptTail returns the last record of an attempt.
func attemptTail(journal io.ReaderAt, size int64, number int) (Tail, error) {
	tail, err := TailAt(journal, size)
	for err == nil && number > 0 && tail.Last.Attempt > number && tail.Last.Start <= tail.Begin {
		tail, err = TailAt(journal, tail.Last.Start) // the attempt before it ends there
	}
	if err == nil && (tail.Last.Seq == 0 || number > 0 && tail.Last.Attempt != number) {
		err = fs.ErrNotExist
	}
	return tail, err
}

// Output decodes the data of an output record. It is much faster than a JSON decoder.
func (r *Record) Output() (d OutputData, err error) {
	head, text, usual := r.splitOutput()
	if !usual {
		err = json.Unmarshal(r.Data, &d)
		return d, err
	}
	if err := json.Unmarshal(append(bytes.Clone(head), '}'), &d); err != nil {
		return d, err
	}
	d.Kept, err = base64.StdEncoding.AppendDecode(nil, text)
	return d, err
}

// AppendOutput appends the bytes of an output record to b, and decodes nothing else.
func (r *Record) AppendOutput(b []byte) ([]byte, error) {
	if _, text, usual := r.splitOutput(); usual {
		return base64.StdEncoding.AppendDecode(b, text)
	}
	var d OutputData
	err := json.Unmarshal(r.Data, &d)
	return append(b, d.Kept...), err
}

// splitOutput splits an output record's data into the members before its bytes, and their
// base64. usual is false if it does not have the form in which this package writes it.
func (r *Record) splitOutput() (head, text []byte, usual bool) {
	head, text, found := bytes.Cut(r.Data, []byte(outputMember))
	text, whole := bytes.CutSuffix(text, []byte(`"}`))
	return head, text, found && whole && bytes.IndexByte(text, '"') < 0
}

// Messages decodes the data of a messages record. reply is the last reply before it; nil if
// there is none. shown are the outputs after the reply, and after a resume if there was one, that are pictures.
func (r *Record) Messages(reply *ReplyData, shown []OutputData) ([]json.RawMessage, error) {
	var last lastReply
	if reply != nil {
		last = lastReplyIn(reply)
	}
	for _, d := range shown {
		last.show(d)
	}
	return last.messages(r.Data)
}

// Closes reports whether the turn cannot be continued after this end.
func (d *TurnEndData) Closes() bool { return d.End != TurnFailed || d.decided() }
