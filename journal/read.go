package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"hash/crc32"
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
// no more than it needs. Of what a crash left behind it, it holds no more than a block in memory.
func TailAt(journal io.ReaderAt, size int64) (Tail, error) {
	back := backward{from: journal}
	for end := size; ; {
		newline, err := back.newline(end)
		if err != nil || newline < 0 {
			return Tail{Torn: size}, err
		}
		before, err := back.newline(newline)
		if err != nil {
			return Tail{Torn: size}, err
		}
		t := Tail{Begin: before + 1, End: newline + 1, Torn: size - newline - 1}
		text, err := back.line(t.Begin, newline)
		if err != nil {
			return Tail{Torn: size}, err
		}
		if !intact(text) {
			end = newline
			continue
		}
		t.Last, err = decodeRecord(text)
		t.Last.countOpen()
		return t, err
	}
}

// backward finds newlines from the end of a file on.
type backward struct {
	from  io.ReaderAt
	block []byte // of the file, from the offset at
	at    int64
}

// newline returns the offset of the last newline before end; -1 if there is none.
func (b *backward) newline(end int64) (int64, error) {
	for end > 0 {
		if end <= b.at || end > b.at+int64(len(b.block)) {
			// Each block is larger than the one before, up to a limit: a long file is then read fast.
			n := min(end, int64(max(tailBlock, min(2*len(b.block), journalBuffer))))
			if b.at = end - n; int64(len(b.block)) != n {
				b.block = make([]byte, n)
			}
			if err := readFull(b.from, b.block, b.at); err != nil {
				return -1, err
			}
		}
		if i := bytes.LastIndexByte(b.block[:end-b.at], '\n'); i >= 0 {
			return b.at + int64(i), nil
		}
		end = b.at
	}
	return -1, nil
}

// longLine is the length above which a line is read into memory only if its checksum is right.
const longLine = 32 << 20

// line returns the text of a line, valid until the next call; of a long one that is damaged, nothing.
func (b *backward) line(from, to int64) ([]byte, error) {
	if from >= b.at && to <= b.at+int64(len(b.block)) {
		return b.block[from-b.at : to-b.at], nil
	}
	if to-from > longLine {
		if whole, err := intactAt(b.from, from, to); !whole {
			return nil, err
		}
	}
	text := make([]byte, to-from)
	return text, readFull(b.from, text, from)
}

func readFull(from io.ReaderAt, to []byte, at int64) error {
	n, err := from.ReadAt(to, at)
	if n == len(to) {
		return nil
	}
	return atomicfile.Fault("reading a journal", err)
}

// intactAt is intact for a line that may be too long for the memory.
func intactAt(journal io.ReaderAt, from, to int64) (bool, error) {
	if to-from < int64(crcSize) {
		return false, nil
	}
	body := to - int64(crcSize)
	tail := make([]byte, crcSize)
	if err := readFull(journal, tail, body); err != nil {
		return false, err
	}
	want, ok := checksumIn(tail)
	if !ok {
		return false, nil
	}
	first := make([]byte, 1)
	if err := readFull(journal, first, from); err != nil || first[0] != '{' {
		return false, err
	}
	sum := crc32.New(castagnoli)
	if _, err := io.Copy(sum, io.NewSectionReader(journal, from, body-from)); err != nil {
		return false, atomicfile.Fault("reading a journal", err)
	}
	return sum.Sum32() == want, nil
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
