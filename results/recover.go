package results

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/regular"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/journal"
)

// reading has the functions to call with the parts of a run directory.
type reading struct {
	predictions func(swebench.About, error) error     // called with preds.json, or the error of reading it
	journal     func(id string) (journal.Tail, error) // finds the end of an instance's journal; zero: there is no journal
	unreadable  func(id string, err error)            // called with an unreadable instance; nil: the directory is refused
}

// load reads the directory. restored counts predictions that were missing in preds.json.
func (rd *Reader) load(entries []os.DirEntry, how reading) (found []*recoveredInstance, restored int, err error) {
	if err := rd.loadPredictions(entries, how.predictions); err != nil {
		return nil, 0, err
	}
	for _, e := range entries {
		if checkID(e.Name()) != nil || !regular.IsFolder(rd.dir, e) {
			continue
		}
		r, err := rd.readInstance(e.Name(), how.journal)
		if err != nil && how.unreadable == nil {
			return nil, 0, err
		}
		if err != nil {
			how.unreadable(e.Name(), err)
		} else if r != nil {
			found = append(found, r)
		}
	}
	restored, err = rd.matchPredictions(found)
	return found, restored, err
}

// entries returns the directory's entries.
func (rd *Reader) entries() ([]os.DirEntry, error) {
	entries, err := os.ReadDir(rd.dir)
	return entries, atomicfile.Fault("reading the output directory", err)
}

// recover reads the directory and cleans up after crashed runs. It reports whether the
// derived files need to be written again.
func (s *Store) recover() (changed bool, err error) {
	entries, err := s.entries()
	if err != nil {
		return false, err
	}
	if err := sweep(s.dir, entryNames(entries), predsFile, statusesFile, parquetFile, manifestFile); err != nil {
		return false, err
	}
	bare := map[string]bool{}
	found, restored, err := s.load(entries, reading{
		predictions: func(about swebench.About, err error) error {
			if err == nil {
				changed, err = s.keepOriginal(about)
			}
			return err
		},
		journal: func(id string) (journal.Tail, error) {
			names, err := s.sweepInstance(id)
			if err != nil || !slices.Contains(names, journalFile) {
				return journal.Tail{}, err
			}
			bare[id] = !slices.ContainsFunc(derivedFiles(id), func(name string) bool { return slices.Contains(names, name) })
			return s.recoverJournal(id)
		},
	})
	if err != nil {
		return changed, err
	}
	if restored > 0 {
		s.tell("%s: put back %s from the journals; to run an instance again, use `batch retry`", predsFile, missing(restored))
	}
	s.fillIn(found, bare)
	return changed || restored > 0, nil
}

// fillIn derives the files of instances that have only a journal, copied alone from
// elsewhere. An existing derived file stays, because it may have more than the journal: old
// journals were not complete.
func (s *Store) fillIn(found []*recoveredInstance, bare map[string]bool) {
	var ids []string
	for _, r := range found {
		if bare[r.id] && r.tail.Last.Type == journal.TypeEnd {
			ids = append(ids, r.id)
		}
	}
	s.fillInEarlier(found)
	together(ids, s.rederive, func(id string, err error) { s.tell("%s: what its journal tells could not be written: %v", id, err) })
}

func entryNames(entries []os.DirEntry) []string {
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

func sweep(dir string, names []string, bases ...string) error {
	return atomicfile.Fault("removing leftovers of a crashed run", atomicfile.Sweep(dir, names, bases...))
}

func (rd *Reader) tell(format string, args ...any) {
	rd.recovered = append(rd.recovered, fmt.Sprintf(format, args...))
}

// recoveredInstance is the state of an instance from the end of its journal.
type recoveredInstance struct {
	*instance
	tail   journal.Tail
	digest string // of the prediction that the journal holds
}

// derivedFiles returns the names of an instance's files that are derived from its journal.
func derivedFiles(id string) []string {
	return []string{id + ".patch", id + ".salvaged.patch", trajectoryFile(id)}
}

// readInstance returns nil for a folder without a journal.
func (rd *Reader) readInstance(id string, end func(id string) (journal.Tail, error)) (*recoveredInstance, error) {
	tail, err := end(id)
	if err != nil || tail.Last.Seq == 0 {
		return nil, err
	}
	r := &recoveredInstance{instance: &instance{id: id, number: tail.Last.Attempt}, tail: tail}
	if err := rd.readHistory(r); err != nil {
		return nil, fault.New(fault.KindOf(err), "reading "+rd.path(id, journalFile), err)
	}
	rd.instances[id] = r.instance
	for i := range r.past {
		p := &r.past[i]
		p.countHeld()
		rd.spent += p.Spent
		rd.held += p.Record.Held
	}
	return r, nil
}

// journalEnd finds the last whole record of an instance's journal. After it may be a record
// that is being written.
func (rd *Reader) journalEnd(id string) (journal.Tail, error) {
	return journal.ReadTail(rd.path(id, journalFile))
}

// sweepInstance removes a crashed run's leftovers from an instance's folder, and returns the
// names that were in it.
func (s *Store) sweepInstance(id string) ([]string, error) {
	names, err := namesIn(s.path(id, ""))
	if err != nil {
		return nil, err
	}
	if err := sweep(s.path(id, ""), names, derivedFiles(id)...); err != nil {
		return nil, err
	}
	if slices.Contains(names, attemptsDir) {
		err = s.sweepEarlier(id)
	}
	return names, err
}

// namesIn returns the names in an instance's folder, or in a folder of it.
func namesIn(path string) ([]string, error) {
	entries, err := os.ReadDir(path)
	return entryNames(entries), atomicfile.Fault("reading an instance's folder", err)
}

// recoverJournal finds the last whole record and cuts off everything after it.
func (s *Store) recoverJournal(id string) (journal.Tail, error) {
	path := s.path(id, journalFile)
	tail, err := s.journalEnd(id)
	switch {
	case err != nil || tail.Torn == 0:
		return tail, err
	case tail.Last.Seq == 0:
		// Batch wrote nothing in it: cutting it would empty another program's file.
		aside, err := s.files.MoveAside(path)
		if err == nil {
			s.tell("%s: the journal holds no whole record: moved to %s", id, filepath.Base(aside))
		}
		return tail, atomicfile.Fault("moving a journal aside", err)
	}
	if err := tail.Cut(path, s.files.Inject); err != nil {
		return tail, err
	}
	s.tell("%s: cut %d bytes of a torn record off the journal, behind record %d", id, tail.Torn, tail.Last.Seq)
	return tail, nil
}

// readHistory fills in the attempts, from the last record if it closes an attempt,
// otherwise from the record that opened the crashed attempt.
func (rd *Reader) readHistory(r *recoveredInstance) error {
	switch last := r.tail.Last; last.Type {
	case journal.TypeEnd:
		var d endData
		if err := json.Unmarshal(last.Data, &d); err != nil {
			return fault.New(fault.Instance, "reading the end record", err)
		}
		r.past = append(d.Earlier, d.pastAttempt)
		r.state, r.digest = stateAfter(d.Record), d.Prediction
		if r.state.resumable() {
			first, err := rd.attemptRecord(r)
			if err != nil {
				return err
			}
			r.made = first.readSettings()
		}
		return nil
	case journal.TypeReset:
		var d resetData
		if err := json.Unmarshal(last.Data, &d); err != nil {
			return fault.New(fault.Instance, "reading the reset record", err)
		}
		r.past = d.Earlier
		return nil
	default:
		return rd.readCrashed(r)
	}
}

func (rd *Reader) readCrashed(r *recoveredInstance) error {
	first, err := rd.attemptRecord(r)
	if err != nil {
		return err
	}
	r.past = append(first.Earlier, brokenOff(r.id, r.tail.Last, first.began))
	r.made, r.state = first.readSettings(), crashed
	return nil
}

// attemptRecord reads the record that opened the last attempt.
func (rd *Reader) attemptRecord(r *recoveredInstance) (*attemptData, error) {
	f, err := regular.Open(rd.path(r.id, journalFile))
	if err != nil {
		return nil, atomicfile.Fault("opening a journal", err)
	}
	defer f.Close()
	rec, err := journal.RecordAt(f, r.tail.Last.Start, r.tail.End)
	if err != nil {
		return nil, err
	}
	d := &attemptData{began: rec.Time}
	if err := json.Unmarshal(rec.Data, d); err != nil {
		return nil, fault.New(fault.Instance, "reading the attempt record", err)
	}
	return d, nil
}
