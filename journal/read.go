package journal

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
)

// Read returns the records of the journal at path, and how many bytes
// after the last of them are a torn tail: what a crash left of records that
// were never synced. See [Scan] for damage elsewhere.
func Read(path string) (records []Record, torn int64, err error) {
	f, err := os.Open(path)
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

// Scan calls fn for each record until fn fails. A torn tail is counted
// and is no error. A line that is damaged although whole records follow it is
// one (kind Instance, with the line's number): fn has then seen all before it.
func Scan(r io.Reader, fn func(Record) error) (torn int64, err error) {
	in := bufio.NewReaderSize(r, journalBuffer)
	badLine, seq := 0, int64(0)
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return torn, atomicfile.Fault("reading a journal", err)
		}
		ended := err != nil
		body, whole := bytes.CutSuffix(line, []byte("\n"))
		switch {
		case len(line) == 0:
		case !whole || !intact(body):
			if badLine == 0 {
				badLine = number
			}
			torn += int64(len(line))
		case badLine > 0:
			return 0, fault.Newf(fault.Instance, "line %d is damaged: its checksum does not match, but whole records follow", badLine)
		default:
			if seq, err = deliver(body, seq, number, fn); err != nil {
				return 0, err
			}
		}
		if ended {
			return torn, nil
		}
	}
}

func deliver(line []byte, seq int64, number int, fn func(Record) error) (int64, error) {
	rec, err := decodeRecord(line)
	if err != nil {
		return seq, err
	}
	if rec.Seq != seq+1 {
		return seq, fault.Newf(fault.Instance, "line %d has sequence number %d, expected %d: a record is missing", number, rec.Seq, seq+1)
	}
	return rec.Seq, fn(rec)
}

// Tail is the end of a journal.
type Tail struct {
	Last  Record // the last whole record; zero when there is none
	Begin int64  // offset of its line
	End   int64  // offset behind its newline
	Torn  int64  // bytes behind that
}

const tailBlock = 16 << 10

// TailAt finds the last whole record that ends at or before size, reading
// from the back no more than it needs.
func TailAt(r io.ReaderAt, size int64) (Tail, error) {
	for block := int64(tailBlock); ; block *= 4 {
		from := max(0, size-block)
		buf := make([]byte, size-from)
		if n, err := r.ReadAt(buf, from); n < len(buf) {
			return Tail{}, atomicfile.Fault("reading a journal's end", err)
		}
		t, ok, err := lastRecord(buf, from)
		if ok || err != nil || from == 0 {
			t.Torn = size - t.End
			return t, err
		}
	}
}

// lastRecord looks for the last whole record in buf, which lies at offset from.
func lastRecord(buf []byte, from int64) (Tail, bool, error) {
	end := len(buf)
	for end > 0 {
		end = bytes.LastIndexByte(buf[:end], '\n') + 1
		if end == 0 {
			break
		}
		begin := bytes.LastIndexByte(buf[:end-1], '\n') + 1
		if begin == 0 && from > 0 {
			break // the line may begin before buf does
		}
		if line := buf[begin : end-1]; intact(line) {
			rec, err := decodeRecord(line)
			return Tail{Last: rec, Begin: from + int64(begin), End: from + int64(end)}, true, err
		}
		end--
	}
	return Tail{}, false, nil
}

// RecordAt reads the record whose line begins at offset.
func RecordAt(r io.ReaderAt, offset, size int64) (Record, error) {
	line, err := bufio.NewReader(io.NewSectionReader(r, offset, size-offset)).ReadBytes('\n')
	line = bytes.TrimSuffix(line, []byte("\n"))
	if err != nil || !intact(line) {
		return Record{}, fault.Newf(fault.Instance, "no whole record at byte %d", offset)
	}
	return decodeRecord(line)
}

// ReadTail returns the end of the journal at path; of none when it is missing.
func ReadTail(path string) (Tail, error) {
	f, err := os.Open(path)
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
