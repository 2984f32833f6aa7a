package results

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/journal"
)

// recover reads the directory and puts in order what crashed runs left. It
// reports whether the derived files need to be written again.
func (s *Store) recover() (changed bool, err error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return false, atomicfile.Fault("reading the output directory", err)
	}
	err = s.sweep(s.dir, entryNames(entries), predsFile, statusesFile, parquetFile, manifestFile)
	if err != nil {
		return false, err
	}
	if changed, err = s.loadPredictions(entries); err != nil {
		return false, err
	}
	var found []*recoveredInstance
	for _, e := range entries {
		if !e.IsDir() || checkID(e.Name()) != nil {
			continue
		}
		r, err := s.recoverInstance(e.Name())
		if err != nil && s.lenient {
			s.tellUnreadable(e.Name(), err)
			continue
		}
		if err != nil {
			return false, err
		}
		if r != nil {
			found = append(found, r)
		}
	}
	restored, err := s.matchPredictions(found)
	if err == nil && !s.reading {
		s.fillIn(found)
	}
	return changed || restored, err
}

// tellUnreadable says what of an instance is counted although its journal cannot be read.
func (s *Store) tellUnreadable(id string, err error) {
	s.unreadable = append(s.unreadable, id)
	counted := "it is counted as not run"
	if s.preds.get(id) != nil {
		counted = "its prediction in preds.json is counted"
	}
	s.tell("%s: its journal cannot be read; %s: %v", id, counted, err)
}

// fillIn derives the files of instances that have a journal and none of them: it was
// written elsewhere, and shipped alone. Where one is there, it may tell more than the
// journal does, which has not always held all.
func (s *Store) fillIn(found []*recoveredInstance) {
	var ids []string
	for _, r := range found {
		if r.bare && r.tail.Last.Type == journal.TypeEnd {
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

func (s *Store) sweep(dir string, names []string, bases ...string) error {
	if s.reading {
		return nil
	}
	return atomicfile.Fault("removing leftovers of a crashed run", atomicfile.Sweep(dir, names, bases...))
}

func (s *Store) tell(format string, args ...any) {
	s.recovered = append(s.recovered, fmt.Sprintf(format, args...))
}

// recoveredInstance is what the end of an instance's journal says.
type recoveredInstance struct {
	*instance
	tail   journal.Tail
	digest string // of the prediction that the journal holds
	bare   bool   // none of its derived files is beside the journal
}

// derivedFiles are the names of an instance's files that follow from its journal.
func derivedFiles(id string) []string {
	return []string{id + ".patch", id + ".salvaged.patch", trajectoryFile(id)}
}

// recoverInstance returns nil for a folder without a journal.
func (s *Store) recoverInstance(id string) (*recoveredInstance, error) {
	bare := false
	if !s.lenient { // Read changes nothing; Options.ReadOnly refuses what Open cannot sweep
		names, err := s.sweepInstance(id)
		if err != nil || !slices.Contains(names, journalFile) {
			return nil, err
		}
		bare = !slices.ContainsFunc(derivedFiles(id), func(name string) bool { return slices.Contains(names, name) })
	}
	tail, err := s.recoverJournal(id)
	if err != nil || tail.Last.Seq == 0 {
		return nil, err
	}
	r := &recoveredInstance{instance: &instance{id: id, number: tail.Last.Attempt}, tail: tail, bare: bare}
	if err := s.readHistory(r); err != nil {
		return nil, fault.New(fault.KindOf(err), "reading "+s.path(id, journalFile), err)
	}
	s.instances[id] = r.instance
	for i := range r.past {
		p := &r.past[i]
		p.countHeld()
		s.spent += p.Spent
		s.held += p.Record.Held
	}
	return r, nil
}

// sweepInstance removes what a crashed run left in an instance's folder, and returns the names
// that were in it.
func (s *Store) sweepInstance(id string) ([]string, error) {
	entries, err := os.ReadDir(s.path(id, ""))
	if err != nil {
		return nil, atomicfile.Fault("reading an instance's folder", err)
	}
	names := entryNames(entries)
	if err := s.sweep(s.path(id, ""), names, derivedFiles(id)...); err != nil {
		return nil, err
	}
	if slices.Contains(names, attemptsDir) {
		err = s.sweepEarlier(id)
	}
	return names, err
}

// recoverJournal finds the last whole record and cuts off what follows it.
func (s *Store) recoverJournal(id string) (journal.Tail, error) {
	path := s.path(id, journalFile)
	tail, err := journal.ReadTail(path)
	switch {
	case err != nil:
		return tail, err
	case tail.Torn == 0, s.reading: // what is torn may be a record that is being written
		return tail, nil
	case tail.Last.Seq == 0:
		// Batch wrote nothing in it, so cutting it would empty another program's file.
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

// readHistory fills in the attempts, from the last record alone where that
// closes one, else from the record that opened the crashed attempt.
func (s *Store) readHistory(r *recoveredInstance) error {
	switch last := r.tail.Last; last.Type {
	case journal.TypeEnd:
		var d endData
		if err := json.Unmarshal(last.Data, &d); err != nil {
			return fault.New(fault.Instance, "reading the end record", err)
		}
		r.past = append(d.Earlier, d.pastAttempt)
		r.state, r.digest = stateAfter(d.Record), d.Prediction
		if r.state.resumable() {
			first, err := s.attemptRecord(r)
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
		return s.readCrashed(r)
	}
}

func (s *Store) readCrashed(r *recoveredInstance) error {
	first, err := s.attemptRecord(r)
	if err != nil {
		return err
	}
	r.past = append(first.Earlier, brokenOff(r.id, r.tail.Last, first.began))
	r.made, r.state = first.readSettings(), crashed
	return nil
}

// attemptRecord reads the record that opened the last attempt.
func (s *Store) attemptRecord(r *recoveredInstance) (*attemptData, error) {
	f, err := os.Open(s.path(r.id, journalFile))
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
