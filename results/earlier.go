package results

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/mask"
	"batch.example/batch/journal"
)

// attemptsDir is the folder, in an instance's folder, with the trajectories of its earlier
// attempts. Their names do not end in .traj.json, so that tools that collect such files
// find one trajectory per instance.
const attemptsDir = "attempts"

// EarlierTrajectory returns the path of the trajectory of an attempt that another attempt
// follows. Number 0 is a trajectory of another tool, or without a journal.
func EarlierTrajectory(dir, id string, number int) string {
	return filepath.Join(dir, id, attemptsDir, fmt.Sprintf("%d.json", number))
}

// keepEarlier keeps the trajectory of the instance's last attempt, before the next one
// begins. in.work is held and no attempt is open.
func (s *Store) keepEarlier(in *instance) error {
	s.mu.Lock()
	number := in.number
	record, known := in.recordOf(number)
	s.mu.Unlock()
	if number == 0 {
		return atomicfile.Fault("keeping an earlier trajectory of "+in.id, s.keepForeign(in.id))
	}
	if !known {
		return nil
	}
	return s.writeEarlier(record)
}

// recordOf returns the record of the attempt with a number. Reader.mu is held.
func (in *instance) recordOf(number int) (Record, bool) {
	for _, p := range in.past {
		if p.Record.Attempt == number {
			return p.Record, true
		}
	}
	return Record{}, false
}

// writeEarlier derives the trajectory of an earlier attempt from the journal, durably. An
// unreadable journal does not prevent another attempt at the instance.
func (s *Store) writeEarlier(r Record) error {
	h, result, err := attemptIn(s.path(r.InstanceID, journalFile), r)
	if err != nil {
		s.log.Load().Warn("the trajectory of an earlier attempt is not kept", "instance", r.InstanceID, "attempt", r.Attempt, "err", err)
		return nil
	}
	if err = s.makeFolder(s.path(r.InstanceID, attemptsDir)); err == nil {
		err = s.writeTrajectory(EarlierTrajectory(s.dir, r.InstanceID, r.Attempt), h, result)
	}
	if err == nil {
		err = s.files.SyncDir(s.path(r.InstanceID, attemptsDir))
	}
	return atomicfile.Fault("keeping an earlier trajectory of "+r.InstanceID, err)
}

// attemptIn returns what people may read of the history and the result of r's attempt, from the
// journal at path. Without an end record, the result has the record r.
func attemptIn(path string, r Record) (*journal.History, *Result, error) {
	h, err := journal.ReadShown(path, max(1, r.Attempt))
	if err != nil {
		return nil, nil, err
	}
	result, err := resultIn(h, r)
	return h, result, err
}

// resultIn returns the result of an attempt. Without an end record, the result has the
// record r.
func resultIn(h *journal.History, r Record) (*Result, error) {
	if h.End == nil {
		return unended(h, r), nil
	}
	return resultOf(h)
}

// keepForeign moves aside the trajectory of an instance without a journal: another tool
// made it, or the journal was deleted.
func (s *Store) keepForeign(id string) error {
	path := s.trajectoryPath(id)
	if info, err := os.Lstat(path); err != nil || info.IsDir() {
		return nil //nolint:nilerr // there is no trajectory to keep
	}
	if err := s.makeFolder(s.path(id, attemptsDir)); err != nil {
		return err
	}
	return s.files.Rename(path, EarlierTrajectory(s.dir, id, 0))
}

// sweepEarlier removes leftovers of a crash from the folder of earlier trajectories.
func (s *Store) sweepEarlier(id string) error {
	names, err := namesIn(s.path(id, attemptsDir))
	if err != nil {
		return err
	}
	for _, name := range names {
		base, _, _ := strings.Cut(strings.TrimPrefix(name, "."), ".json")
		if err := sweep(s.path(id, attemptsDir), []string{name}, base+".json"); err != nil {
			return err
		}
	}
	return nil
}

// fillInEarlier derives missing trajectories of earlier attempts: the journal was copied
// alone, or an old version wrote it without keeping them.
func (s *Store) fillInEarlier(found []*recoveredInstance) {
	missing := map[string][]Record{}
	var ids []string
	for _, in := range found {
		for _, p := range in.past {
			if p.Record.Attempt >= in.number {
				continue
			}
			if _, err := os.Lstat(EarlierTrajectory(s.dir, in.id, p.Record.Attempt)); errors.Is(err, fs.ErrNotExist) {
				missing[in.id] = append(missing[in.id], p.Record)
			}
		}
		if len(missing[in.id]) > 0 {
			ids = append(ids, in.id)
		}
	}
	together(ids, func(id string) error {
		for _, r := range missing[id] {
			if err := s.writeEarlier(r); err != nil {
				return err
			}
		}
		return nil
	}, func(id string, err error) {
		s.tell("%s: the trajectories of earlier attempts could not be written: %v", id, err)
	})
}

// WriteTrajectory writes the trajectory of an attempt from the current state of its journal
// in the run directory dir, as people may read it (see [journal.Shown]), with m's secrets hidden too;
// number 0 is the last attempt. It takes no lock and changes nothing. Without such an attempt the
// error wraps fs.ErrNotExist.
func WriteTrajectory(w io.Writer, dir, id string, number int, m *mask.Masker) error {
	record, err := recordIn(dir, id, number)
	if err != nil {
		return err
	}
	h, result, err := attemptIn(JournalPath(dir, id), record)
	if err != nil {
		return err
	}
	if err := writeTrajectory(w, m, h, result); err != nil {
		return fault.New(fault.KindOf(err), "reading the trajectory of "+id, err)
	}
	return nil
}

// recordIn returns the record of an attempt from its journal; number 0 is the last attempt.
func recordIn(dir, id string, number int) (Record, error) {
	if err := checkID(id); err != nil {
		return Record{}, err
	}
	rd := newReader(dir)
	in, err := rd.readInstance(id, rd.journalEnd)
	if err != nil {
		return Record{}, err
	}
	if in == nil {
		return Record{}, &fs.PathError{Op: "read", Path: JournalPath(dir, id), Err: fs.ErrNotExist}
	}
	if number == 0 {
		number = in.number
	}
	record, _ := in.recordOf(number)
	record.InstanceID, record.Attempt = id, number
	return record, nil
}
