package journal

import (
	"errors"
	"io"
	"os"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
)

// File stores a journal's bytes elsewhere than in a file: see [OpenFile]. Its errors are
// like the errors of files, or faults. A [Writer] appends whole lines, and writes them
// again at the same place if that failed.
type File interface {
	io.ReaderAt
	io.WriterAt
	Size() (int64, error)
	Truncate(size int64) error
	Sync() error // makes durable what was written
	Close() error
}

// OpenFile continues the journal in f, without its torn tail. The Writer owns f from then
// on. Options' Files are not used, except Inject.
func OpenFile(f File, o Options) (*Writer, error) {
	tail, err := tailOf(f)
	if err == nil && tail.Torn > 0 {
		err = atomicfile.Fault("truncating a torn journal", f.Truncate(tail.End))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	w := newWriter(f, "the journal", tail, o)
	w.copies.open = func() (File, error) { return o.Copies, nil }
	return w, nil
}

func tailOf(f File) (Tail, error) {
	size, err := f.Size()
	if err != nil {
		return Tail{}, atomicfile.Fault("reading a journal", err)
	}
	return TailAt(f, size)
}

// HistoryOf is [ReadHistory] of the journal in f, which must stay open for as long as the
// History's outputs are read.
func HistoryOf(f File) (*History, error) {
	tail, err := tailOf(f)
	if err != nil {
		return nil, err
	}
	if tail.Last.Seq == 0 {
		return nil, os.ErrNotExist
	}
	h, err := readAttempt(f, tail)
	if err != nil {
		return nil, fault.New(fault.KindOf(err), "reading a journal", err)
	}
	h.open = func() (io.ReaderAt, io.Closer, error) { return f, io.NopCloser(nil), nil }
	return h, nil
}

// HistoryHere is the history of all records that w has written, also of those that are not synced yet.
func (j *Writer) HistoryHere() (*History, error) {
	if err := j.Flush(); err != nil {
		return nil, err
	}
	return HistoryOf(j.f)
}

// ShownHere is HistoryHere as people may read it, see [Shown]; w is a Writer of [Open].
func (j *Writer) ShownHere() (*History, error) {
	if err := j.Flush(); err != nil {
		return nil, err
	}
	return ReadShown(j.path, 0)
}

// osFile is a journal in a file.
type osFile struct{ *os.File }

// Size implements [File].
func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Durability says what [Writer.Sync] promises, and so how much a running attempt may lose
// in a crash. The end of an attempt is synced at both levels.
type Durability string

const (
	// Power: before a request is sent or an action runs, its record and all earlier
	// ones are synced, and survive a power cut. Each journal is synced by itself: the
	// file system makes one commit for all that wait, so a log shared by the journals
	// was not faster.
	Power Durability = "power"
	// Process: the records survive this process, however it ends. A power cut may lose
	// what the system had not written yet: seconds of each running attempt, including
	// paid replies. The reported cost is then too low.
	Process Durability = "process"
)

// ParseDurability reads a flag's value. An unknown one is a Usage fault.
func ParseDurability(word string) (Durability, error) {
	switch d := Durability(word); d {
	case Power, Process:
		return d, nil
	}
	return "", fault.Newf(fault.Usage, "--durability %s: expected power or process", word)
}
