package journal

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"io/fs"

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
	lines := part(journal, from, to)
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
			if r, err := decodeInPlace(l.text); err == nil {
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

// Bounds returns where the lines of an attempt begin and end in the first size bytes of a
// journal; number 0 is the last attempt. Without such an attempt the error wraps
// fs.ErrNotExist.
func Bounds(journal io.ReaderAt, size int64, number int) (from, to int64, err error) {
	t, err := attemptTail(journal, size, number)
	return t.Last.Start, t.End, err
}

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
	head, text, found := bytes.Cut(r.Data, []byte(outputMember))
	text, whole := bytes.CutSuffix(text, []byte(`"}`))
	if !found || !whole || bytes.ContainsRune(text, '"') {
		err = json.Unmarshal(r.Data, &d)
		return d, err
	}
	if err := json.Unmarshal(append(bytes.Clone(head), '}'), &d); err != nil {
		return d, err
	}
	d.Kept, err = base64.StdEncoding.AppendDecode(nil, text)
	return d, err
}

// Messages decodes the data of a messages record. reply is the last reply before it; nil if
// there is none.
func (r *Record) Messages(reply *ReplyData) ([]json.RawMessage, error) {
	var last lastReply
	if reply != nil {
		last = lastReplyIn(reply)
	}
	return last.messages(r.Data)
}

// Closes reports whether the turn cannot be continued after this end.
func (d *TurnEndData) Closes() bool { return d.End != TurnFailed || d.decided() }
