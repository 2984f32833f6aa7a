package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/inject"
	"batch.example/batch/internal/mask"
	"batch.example/batch/internal/python"
	"batch.example/batch/internal/regular"
)

const (
	journalBuffer = 256 << 10
	idleBuffer    = 16 << 10 // kept for other writers
	journalMode   = 0o600    // it holds all messages and outputs exactly, including secrets
	publicMode    = 0o644
)

// buffers are for the pending lines of all writers: most of the time a model thinks, and a writer
// has none.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// Options say how a journal is opened for writing; only Spend is required.
type Options struct {
	Durability Durability       // empty: Power
	Files      atomicfile.Files // asked before every write and fsync
	Spend      Spend            // called whenever money is spent
	Public     bool             // it holds no secrets: its mode is 0644, less the umask, and not 0600
	Mask       *mask.Masker     // what people may not read: see [Shown]; nil: no record has a copy for them
	Copies     File             // of [OpenFile]: where those copies go
}

func (o Options) mode() fs.FileMode {
	if o.Public {
		return publicMode
	}
	return journalMode
}

// Spend is called with the US dollars that were spent since the last time, and how many of
// them are for calls without an answer. Both may be negative, when such a call has ended.
type Spend func(dollars, held float64)

// Writer appends to the history of one instance. Methods are safe for concurrent use.
type Writer struct {
	mu        sync.Mutex
	f         File
	path      string
	inject    *inject.Plan
	level     Durability
	pending   []byte // whole lines not yet handed to the system
	written   int64  // bytes of whole lines in the file
	last      Record
	lastReply lastReply
	mask      *mask.Masker
	copies    copies
	ended     bool  // Finish has closed the attempt
	broken    error // a sync failed: the file's content is no longer known
	failed    error // the error of the last write or sync, which its caller has received
	spend     Spend

	held   float64 // estimated cost of calls without an answer, in US dollars
	open   bool    // a call is under way
	before struct {
		lost int
		held float64
	} // the state if that call costs nothing
}

// Open opens the file at path for appending after tail, which [ReadTail] returned for it,
// and makes a new file's name durable.
func Open(path string, tail Tail, o Options) (*Writer, error) {
	_, err := os.Stat(path)
	isNew := errors.Is(err, fs.ErrNotExist)
	f, err := regular.OpenFile(path, os.O_RDWR|os.O_CREATE, o.mode())
	if err != nil {
		return nil, atomicfile.Fault("opening a journal", err)
	}
	if !o.Public {
		err = f.Chmod(journalMode)
	}
	if err == nil && isNew {
		err = o.Files.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		f.Close()
		return nil, atomicfile.Fault("creating "+path, err)
	}
	w := newWriter(osFile{f}, path, tail, o)
	w.copies.open = func() (File, error) { return openCopies(path, o.Files) }
	return w, nil
}

func newWriter(f File, path string, tail Tail, o Options) *Writer {
	return &Writer{
		f: f, path: path, inject: o.Files.Inject, level: o.Durability, spend: o.Spend, written: tail.End, last: tail.Last, held: tail.Last.Held(),
		mask: o.Mask,
	}
}

// Append adds a record of the given type with v as its JSON data. It is kept
// in memory or handed to the system; call [Writer.Sync] before anything that
// must not happen without the record. JSON does not preserve bytes that are not UTF-8:
// encode them. v is stored exactly, including secrets. After the attempt's end
// record, Append fails.
func (j *Writer) Append(typ string, v any) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	e, err := j.encode(v)
	if err != nil {
		return fault.New(fault.Bug, "encoding a journal record of type "+typ, err)
	}
	if j.ended {
		return fault.Newf(fault.Bug, "appending %s to %s: the attempt has ended", typ, j.path)
	}
	err = j.append(typ, e)
	if d, ok := v.(ReplyData); ok {
		j.lastReply = lastReply{} // if it failed, it is not known whether the reply is in the file
		if err == nil {
			j.lastReply = lastReply{d.Step, e.message, e.forPeople != nil}
		}
	}
	if d, ok := v.(OutputData); ok && err == nil {
		j.lastReply.show(d)
		j.lastReply.differs = j.lastReply.differs || e.forPeople != nil
	}
	return err
}

// Copy appends a record of another journal, in which people read shown.
func (j *Writer) Copy(r, shown Record) error {
	e := encoded{data: r.Data, looked: r.Masked != 0}
	if r.Masked > 0 {
		e.forPeople = &encoded{data: shown.Data}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.append(r.Type, e)
}

// encoded is a record's data as it is written: JSON without a newline.
type encoded struct {
	data, output []byte // the output belongs in the data, and may be large: see appendRecord
	message      []byte // of a reply, for the records that refer to it

	looked    bool     // for secrets
	forPeople *encoded // with its secrets hidden; nil: it has none
}

// encode leaves out what the journal already holds, except in what is for people: a text and its
// copy in another record may differ there. j.mu is held.
func (j *Writer) encode(v any) (e encoded, err error) {
	var packed any
	shares := false
	switch d := v.(type) {
	case ReplyData:
		var r replyRecord
		r, err = d.packed()
		packed, e.message = r, r.Message
	case MessagesData:
		packed, err = j.lastReply.packed(d)
		_, shares = packed.(messagesRecord)
	}
	if err == nil {
		e.data, e.output, err = compact(v, packed)
	}
	if err != nil || j.mask == nil {
		return e, err
	}
	e.looked = true
	shown, differs := j.mask.Value(v)
	if differs || shares && j.lastReply.differs {
		e.forPeople = &encoded{}
		e.forPeople.data, e.forPeople.output, err = compact(shown, nil)
	}
	return e, err
}

// compact returns the JSON of a record's data, which may have a shorter form, and separately an
// output's bytes.
func compact(v, packed any) (data, output []byte, err error) {
	if d, ok := v.(OutputData); ok {
		if output = d.Kept; output == nil {
			output = []byte{}
		}
		d.Kept = []byte{}
		v = d
	}
	if packed != nil {
		v = packed
	}
	data, err = python.Compact(v)
	return data, output, err
}

// append adds a record, and hands over what is pending if it is much. j.mu is held.
func (j *Writer) append(typ string, e encoded) error {
	if !validType(typ) {
		return fault.Newf(fault.Bug, "appending to %s: record type %q is not a lower-case word", j.path, typ)
	}
	if err := j.inject.At("journal.append"); err != nil {
		return atomicfile.Fault("appending to a journal", err)
	}
	r := j.last
	r.Version, r.Seq, r.Type, r.Data, r.Time, r.Masked = versionOf(typ), r.Seq+1, typ, e.data, time.Now().UTC(), 0
	j.count(&r, e.data)
	if err := j.copies.add(&r, e); err != nil {
		return err
	}
	if j.pending == nil {
		j.pending = *buffers.Get().(*[]byte)
	}
	j.pending = appendRecord(j.pending, &r, e.output)
	if spent, held := r.SpentSoFar()-j.last.SpentSoFar(), r.Held()-j.last.Held(); spent != 0 || held != 0 {
		j.spend(spent, held)
	}
	r.Data = nil
	j.last = r
	if len(j.pending) < journalBuffer {
		return nil
	}
	return j.write()
}

// count counts a record's calls and what they cost. A call counts as lost from its request
// on, so that a crash at any point leaves the right figures. j.mu is held.
func (j *Writer) count(r *Record, data []byte) {
	switch r.Type {
	case TypeRequest, TypeSummaryRequest, TypeTry:
		j.open, j.before.lost, j.before.held = true, r.Lost, j.held
		r.Lost++
		j.held += costOf(data, "reserved")
	case TypeReply:
		j.answered(r, gjson.GetBytes(data, "priced"))
		r.Calls++
		r.Cost += costOf(data, "cost")
		if j.held == 0 && gjson.GetBytes(data, "priced").Bool() { // no price was known for the lost calls, which were much like this one
			j.held = float64(r.Lost) * costOf(data, "cost")
		}
	case TypeSummary:
		j.answered(r, gjson.GetBytes(data, "reply.priced"))
		r.Cost += costOf(data, "reply.cost")
	case TypeUnpaid:
		j.settle(r)
	case TypeLost:
		j.settle(r)
		r.Lost += max(0, int(gjson.GetBytes(data, "calls").Int()))
		j.held += costOf(data, "cost")
	}
	if r.Spent = 0; j.held > 0 {
		r.Spent = r.Cost + j.held
	}
}

// answered ends the call under way. If its cost is not known, it counts as before.
func (j *Writer) answered(r *Record, priced gjson.Result) {
	if !priced.Exists() || priced.Bool() {
		j.settle(r)
	} else if !j.open {
		r.Lost++
	}
	j.open = false
}

// settle takes back the estimated cost of the running call.
func (j *Writer) settle(r *Record) {
	if j.open {
		j.open, r.Lost, j.held = false, j.before.lost, j.before.held
	}
}

// costOf returns the cost at a path in a record's data.
func costOf(data []byte, path string) float64 { return max(0, gjson.GetBytes(data, path).Float()) }

// Begin appends the record that opens attempt n, with v as its data.
func (j *Writer) Begin(n int, v any) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	e, err := j.encode(v)
	if err != nil {
		return fault.New(fault.Bug, "encoding an attempt record", err)
	}
	j.ended = false
	j.lastReply = lastReply{}
	j.last.Attempt, j.last.Calls, j.last.Cost, j.last.Lost, j.last.Spent = n, 0, 0, 0, 0
	j.open, j.held = false, 0
	j.last.Start = j.written + int64(len(j.pending))
	return j.append(TypeAttempt, e)
}

// Resume appends the record with which an ended attempt continues. spent is the cost of the
// attempt, which may exceed the cost of its replies; last is the reply to the last request,
// or nil.
func (j *Writer) Resume(v any, spent float64, last *ReplyData) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	e, err := j.encode(v)
	if err != nil {
		return fault.New(fault.Bug, "encoding a resume record", err)
	}
	j.ended, j.open = false, false
	if last != nil {
		j.lastReply = lastReplyIn(last)
	}
	if spent > j.last.Cost {
		j.last.Spent = spent
		j.held = j.last.Held()
	}
	return j.append(TypeResume, e)
}

// Finish appends records that close an attempt, or replace its end, and makes them
// durable together. Only their type and their data, JSON on one line, are used.
func (j *Writer) Finish(records ...Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range records {
		e, err := j.encode(r.Data)
		if err == nil {
			err = j.append(r.Type, e)
		}
		if err != nil {
			return err
		}
	}
	j.ended = true
	return j.syncFile()
}

// State returns the last record, without its data, and whether it closes the
// attempt.
func (j *Writer) State() (last Record, ended bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.last, j.ended
}

// Flush hands every record appended so far to the system: they survive this
// process, but perhaps not a power cut.
func (j *Writer) Flush() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.write()
}

// Sync makes every record appended so far durable, as [Durability]
// says, before it returns nil. After a full disk, a later Sync tries
// again. After a failed fsync it never succeeds, because the system may have
// dropped the data.
func (j *Writer) Sync() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.level == Process {
		return j.write()
	}
	return j.syncFile()
}

// syncFile writes what is pending and syncs the file. j.mu is held.
func (j *Writer) syncFile() error {
	if err := j.write(); err != nil {
		return err
	}
	err := j.inject.At("journal.sync")
	if err == nil {
		err = j.copies.sync() // first: no record may outlive its copy
	}
	if err == nil {
		err = j.f.Sync()
	}
	if err != nil {
		j.broken = atomicfile.Fault("syncing a journal", err)
		j.failed = j.broken
		return j.broken
	}
	return nil
}

// write hands the pending lines to the system. As long as that fails, it returns the first
// failure of the kind, so that callers can see that several failures are one.
func (j *Writer) write() error {
	if j.broken != nil {
		return j.broken
	}
	if len(j.pending) == 0 {
		return nil
	}
	if err := j.writePending(); err != nil {
		if j.failed == nil || fault.KindOf(j.failed) != fault.KindOf(err) {
			j.failed = err
		}
		return j.failed
	}
	j.failed = nil
	return nil
}

// writePending undoes a partial write, so that the file always ends with a whole line.
func (j *Writer) writePending() error {
	if err := j.inject.At("journal.write"); err != nil {
		return atomicfile.Fault("writing a journal", err)
	}
	if err := j.copies.write(); err != nil { // first: whoever reads a record finds its copy
		return err
	}
	if _, err := j.f.WriteAt(j.pending, j.written); err != nil {
		return atomicfile.Fault("writing a journal", errors.Join(err, j.f.Truncate(j.written)))
	}
	j.written += int64(len(j.pending))
	if b := j.pending[:0]; cap(b) <= idleBuffer {
		buffers.Put(&b)
	}
	j.pending = nil
	return nil
}

// Close hands the buffered records to the system and closes the file. It does not return
// a failure to write that another method has returned. A second Close does nothing.
func (j *Writer) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if errors.Is(j.broken, os.ErrClosed) {
		return nil
	}
	reported := j.failed != nil
	err := j.write()
	if reported {
		err = nil
	}
	if closeErr := errors.Join(j.copies.close(), j.f.Close()); err == nil && closeErr != nil {
		err = atomicfile.Fault("closing a journal", closeErr)
	}
	j.broken = fault.New(fault.Bug, "writing to a closed journal", os.ErrClosed)
	return err
}
