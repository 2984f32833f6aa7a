package journal

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/inject"
	"batch.example/batch/internal/regular"
)

// Read returns the records of the journal at path, and the length in bytes of a torn tail:
// what a crash left after the last whole record. See [Scan] for damage elsewhere.
func Read(path string) (records []Record, torn int64, err error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	torn, err = Scan(f, func(r Record) error {
		records = append(records, r)
		return nil
	})
	if err != nil {
		return records, torn, fault.New(fault.KindOf(err), "reading "+path, err)
	}
	return records, torn, nil
}

// Scan calls fn for each record until fn fails. It returns the length of a torn tail,
// which is not an error. A damaged line before whole records is an error (kind Instance,
// with the line's number); fn has then been called for all records before it.
func Scan(journal io.Reader, fn func(Record) error) (torn int64, err error) {
	return scan(journal, func(r Record, _ Place) error { return fn(r) })
}

func scan(journal io.Reader, fn func(Record, Place) error) (torn int64, err error) {
	r := whole(journal)
	badLine, badAt := 0, int64(0)
	for {
		l, err := r.next()
		if errors.Is(err, io.EOF) && badLine > 0 {
			return r.at - badAt, nil
		}
		if errors.Is(err, io.EOF) {
			return 0, nil
		}
		switch {
		case err != nil:
			return 0, err
		case !l.whole && badLine == 0:
			badLine, badAt = l.number, l.at.from
			continue
		case !l.whole:
			continue
		case badLine > 0:
			return 0, fault.Newf(fault.Instance, "line %d is damaged: its checksum does not match, but valid records follow", badLine)
		}
		rec, err := r.record(&l)
		if err == nil {
			err = fn(rec, Place(l.at.from))
		}
		if err != nil {
			return 0, err
		}
	}
}

// Tail is the end of a journal.
type Tail struct {
	Last  Record // the last whole record; zero when there is none
	Begin int64  // offset of its line
	End   int64  // offset after its newline
	Torn  int64  // bytes after that
}

const tailBlock = 4 << 10 // most records that end a journal are shorter

// TailAt finds the last whole record that ends at or before size. It reads backwards, and
// no more than it needs.
func TailAt(journal io.ReaderAt, size int64) (t Tail, err error) {
	for block := int64(tailBlock); ; block *= 4 {
		from := max(0, size-block)
		t, err = lastIn(part(journal, from, size), from > 0)
		if err != nil || t.Last.Seq > 0 || from == 0 {
			t.Torn = size - t.End
			return t, err
		}
	}
}

// lastIn finds the last whole record of a part, which may begin within a line.
func lastIn(r *reader, within bool) (t Tail, err error) {
	var text []byte
	for {
		l, err := r.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Tail{}, err
		}
		if l.whole && !(within && l.number == 1) {
			text, t.Begin, t.End = append(text[:0], l.text...), l.at.from, l.at.to+1
		}
	}
	if text != nil {
		t.Last, err = decodeRecord(text)
		t.Last.countOpen()
	}
	return t, err
}

// countOpen counts the call that r announces as lost. Versions that did not count running
// calls wrote the amount reserved for them.
func (r *Record) countOpen() {
	var d RequestData
	if r.Lost > 0 || r.Type != TypeRequest && r.Type != TypeSummaryRequest || json.Unmarshal(r.Data, &d) != nil || d.Reserved <= 0 {
		return
	}
	r.Lost, r.Spent = 1, r.SpentSoFar()+d.Reserved
}

// Cut removes the torn tail of the journal at path. t is the journal's end.
func (t Tail) Cut(path string, plan *inject.Plan) error {
	err := plan.At("journal.cut")
	if err == nil {
		err = os.Truncate(path, t.End)
	}
	return atomicfile.Fault("truncating a torn journal", err)
}

// RecordAt reads the record at offset, where its line begins.
func RecordAt(journal io.ReaderAt, offset, size int64) (Record, error) {
	r := part(journal, offset, size)
	l, err := r.next()
	if err != nil || !l.whole {
		return Record{}, fault.Newf(fault.Instance, "no valid record at byte %d", offset)
	}
	return r.record(&l)
}

// ReadTail returns the end of the journal at path; the zero Tail if there is no journal.
func ReadTail(path string) (Tail, error) {
	f, err := regular.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Tail{}, nil
	}
	if err != nil {
		return Tail{}, atomicfile.Fault("opening a journal", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Tail{}, atomicfile.Fault("reading a journal", err)
	}
	tail, err := TailAt(f, info.Size())
	if err != nil {
		return tail, fault.New(fault.KindOf(err), "reading "+path, err)
	}
	return tail, nil
}
