package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/mask"
	"batch.example/batch/internal/python"
	"batch.example/batch/journal"
	"batch.example/batch/results/manifest"
)

// Seed copies the last attempt at an instance in the run directory from, under the given
// settings. The copy becomes the first attempt in dir, which is made if it is missing, and
// forgets the outcome, so that [Store.Resume] resumes it. The copy is a session. The attempt
// of a batch run becomes its first turn, with the words task; an attempt that was a session
// keeps its turns. The directory from is only read. Seed does nothing if dir has a journal
// of the instance, and leaves nothing half done after a crash. What people may read of the attempt is
// copied too; m hides secrets in the rest.
func Seed(dir, id string, under manifest.Settings, from, task string, m *mask.Masker) error {
	if err := checkID(id); err != nil {
		return err
	}
	if err := MakeDir(dir); err != nil {
		return err
	}
	unlock, err := Lock(dir, DefaultOwner())
	if err != nil {
		return err
	}
	return errors.Join(seed(dir, id, under, from, task, m), unlock())
}

func seed(dir, id string, under manifest.Settings, from, task string, m *mask.Masker) error {
	path := filepath.Join(dir, id, journalFile)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	source := filepath.Join(from, id, journalFile)
	h, err := journal.ReadHistory(source)
	if errors.Is(err, fs.ErrNotExist) {
		return fault.Newf(fault.Usage, "%s has no journal of %s", from, id).WithHint("only what batch ran can be continued")
	}
	if err != nil {
		return err
	}
	settings, err := python.Compact(under)
	if err != nil {
		return fault.New(fault.Bug, "encoding the settings of an attempt", err)
	}
	var out, copies memory
	w, err := journal.OpenFile(&out, journal.Options{Durability: journal.Process, Spend: func(_, _ float64) {}, Mask: m, Copies: &copies})
	if err != nil {
		return err
	}
	if err := w.Begin(1, attemptData{Owner: DefaultOwner(), Settings: settings}); err != nil {
		return err
	}
	c := copier{w: w, attempt: h.Attempt, wrap: h.Turn() == nil || h.Turns[0].Words == ""}
	if c.wrap {
		if err := w.Append(journal.TypeTurn, journal.TurnData{Turn: 1, Words: task}); err != nil {
			return err
		}
	}
	if err := c.all(source); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return atomicfile.Fault("creating an instance's folder", err)
	}
	if copies.Len() > 0 { // first: whoever reads a record finds its copy
		if err := (atomicfile.Files{}).Write(journal.CopiesPath(path), 0o600, atomicfile.Bytes(copies.Bytes())); err != nil {
			return err
		}
	}
	return atomicfile.Files{}.Write(path, 0o600, atomicfile.Bytes(out.Bytes()))
}

// copier copies the records of an attempt.
type copier struct {
	w       *journal.Writer
	source  *journal.Shown
	attempt int
	wrap    bool     // a batch run made the attempt: its turn gets words, and the attempt's end becomes its end
	ended   bool     // its turn's own end is in the copy
	end     *endData // nil while the attempt runs
}

func (c *copier) all(source string) error {
	f, err := journal.OpenShown(source)
	if err != nil {
		return atomicfile.Fault("opening a journal", err)
	}
	defer f.Close()
	c.source = f
	if _, err := journal.Scan(f, c.record); err != nil {
		return fault.New(fault.KindOf(err), "reading "+source, err)
	}
	if !c.wrap || c.ended || c.end == nil {
		return nil
	}
	rec := c.end.Record
	end := journal.TurnEndData{Turn: 1, End: journal.EndOf(rec.Status), Status: rec.Status}
	if end.End == journal.TurnFailed {
		end.Error = rec.Error
	}
	return c.w.Append(journal.TypeTurnEnd, end)
}

func (c *copier) record(r journal.Record) error {
	if r.Attempt != c.attempt {
		return nil
	}
	switch r.Type {
	case journal.TypeAttempt, journal.TypePrediction, journal.TypeSubmission, journal.TypeSalvage, journal.TypeReset:
		return nil
	case journal.TypeSession, journal.TypeTurn, journal.TypeRetry:
		if c.wrap {
			return nil
		}
	case journal.TypeTurnEnd:
		if !c.wrap {
			break
		}
		end, err := journal.Decode[journal.TurnEndData](r)
		if err != nil || !end.Closes() {
			return err
		}
		c.ended = true // what it said before a resume is said
	case journal.TypeEnd:
		c.end = &endData{}
		return json.Unmarshal(r.Data, c.end)
	case journal.TypeResume:
		c.end = nil
		return c.w.Append(journal.TypeRetry, nil)
	}
	shown, err := c.source.Record(r)
	if err != nil {
		return err
	}
	return c.w.Copy(r, shown)
}

// memory is a journal that is not in a file yet.
type memory struct{ bytes.Buffer }

// ReadAt implements [journal.File].
func (m *memory) ReadAt(b []byte, off int64) (int, error) {
	return bytes.NewReader(m.Bytes()).ReadAt(b, off)
}

// WriteAt implements [journal.File]: a Writer only appends.
func (m *memory) WriteAt(b []byte, _ int64) (int, error) { return m.Write(b) }

// Size implements [journal.File].
func (m *memory) Size() (int64, error) { return int64(m.Len()), nil }

// Truncate implements [journal.File].
func (m *memory) Truncate(size int64) error {
	m.Buffer.Truncate(int(size))
	return nil
}

// Sync implements [journal.File].
func (m *memory) Sync() error { return nil }

// Close implements [journal.File].
func (m *memory) Close() error { return nil }
