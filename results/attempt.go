package results

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/mask"
	"batch.example/batch/internal/printable"
	"batch.example/batch/internal/python"
	"batch.example/batch/internal/regular"
	"batch.example/batch/journal"
	"batch.example/batch/results/manifest"
	"batch.example/batch/vocab"
)

// Attempt is a running attempt at an instance: its journal and its log.
type Attempt struct {
	store   *Store
	in      *instance
	number  int
	started time.Time
	journal *journal.Writer

	mu     sync.Mutex
	file   *os.File
	log    *mask.Writer // to file
	closed bool
}

// attemptData is the data of an attempt record. Earlier repeats the earlier attempts, so
// that the journal need not be read from its beginning.
type attemptData struct {
	Owner    string          `json:"owner"`
	Settings json.RawMessage `json:"settings,omitempty"`
	Earlier  []pastAttempt   `json:"earlier,omitempty"`

	began time.Time
}

// endData is the data of an end record.
type endData struct {
	pastAttempt
	Prediction string        `json:"prediction_sha256,omitempty"` // of model_patch; empty: no entry in preds.json
	Earlier    []pastAttempt `json:"earlier,omitempty"`
	Notes      Notes         `json:"notes,omitzero"`
}

// resumeData is the data of a resume record.
type resumeData struct {
	Owner    string          `json:"owner"`
	Settings json.RawMessage `json:"settings,omitempty"`
}

// resetData is the data of a reset record.
type resetData struct {
	Earlier []pastAttempt `json:"earlier,omitempty"`
}

// Begin opens the next attempt at an instance under the given settings: its folder, journal
// and log. First it removes the instance's prediction from preds.json. The caller must
// Close the attempt; an instance has at most one open attempt.
func (s *Store) Begin(id string, under manifest.Settings) (*Attempt, error) {
	in, err := s.idle(id)
	if err != nil {
		return nil, err
	}
	defer in.work.Unlock()
	return s.begin(in, under)
}

// idle returns the instance with its work held. An open attempt is an error.
func (s *Store) idle(id string) (*instance, error) {
	in, err := s.instance(id)
	if err != nil {
		return nil, err
	}
	in.work.Lock()
	s.mu.Lock()
	busy := in.open != nil
	s.mu.Unlock()
	if busy {
		in.work.Unlock()
		return nil, fault.Newf(fault.Bug, "instance %s: an attempt is already open", id)
	}
	return in, nil
}

// Resume is Begin for an instance with a last attempt that did not end by itself, but by a
// crash, an interruption or a fault (after a paid reply, a fault of any blame). It opens
// the attempt again, with its number and its cost, and returns its history. Otherwise, and
// if the attempt was [Store.Reset] or made under other settings, a new one begins and the
// history is nil.
func (s *Store) Resume(id string, under manifest.Settings) (*Attempt, *journal.History, error) {
	in, err := s.idle(id)
	if err != nil {
		return nil, nil, err
	}
	defer in.work.Unlock()
	s.mu.Lock()
	known := in.state.resumable() && sameSettings(under, in.made)
	s.mu.Unlock()
	if !known {
		a, err := s.begin(in, under)
		return a, nil, err
	}
	h, err := s.History(id)
	if err != nil {
		return nil, nil, err
	}
	a, err := s.resume(in, h, under)
	return a, h, err
}

// resume opens the last attempt again. in.work is held and no attempt is open.
func (s *Store) resume(in *instance, h *journal.History, under manifest.Settings) (*Attempt, error) {
	settings, err := python.Compact(under)
	if err != nil {
		return nil, fault.New(fault.Bug, "encoding the settings of an attempt", err)
	}
	if err := s.dropPredictions(in.id); err != nil {
		return nil, err
	}
	a, _, err := s.reopen(in)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	n := len(in.past) - 1
	spent := in.past[n].Spent
	a.started = h.Started
	in.past = in.past[:n:n]
	in.state = running
	s.mu.Unlock()
	if err := a.journal.Resume(resumeData{Owner: DefaultOwner(), Settings: settings}, spent, h.LastReply()); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// stateAfter returns the state of an instance after the last attempt's record. If the
// attempt did not end by itself, it can be resumed, which keeps paid replies.
func stateAfter(r Record) state {
	switch {
	case r.Outcome.Final():
		return final
	case r.Outcome == vocab.OutcomePending,
		r.Outcome == vocab.OutcomeInfrastructure && (r.Steps > 0 || r.Blame == fault.Transient.String() || r.Blame == fault.Host.String()):
		return stopped
	default:
		return unstarted
	}
}

// begin starts the next attempt. in.work is held and no attempt is open.
func (s *Store) begin(in *instance, under manifest.Settings) (*Attempt, error) {
	settings, err := python.Compact(under)
	if err != nil {
		return nil, fault.New(fault.Bug, "encoding the settings of an attempt", err)
	}
	if err := s.dropPredictions(in.id); err != nil {
		return nil, err
	}
	if err := s.keepEarlier(in); err != nil {
		return nil, err
	}
	a, _, err := s.reopen(in)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	in.number++
	in.made = under
	in.state = running
	a.number = in.number
	past := slices.Clone(in.past)
	s.mu.Unlock()
	if err := a.journal.Begin(a.number, attemptData{Owner: DefaultOwner(), Settings: settings, Earlier: past}); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	first, _ := a.journal.State()
	s.mu.Lock()
	a.started = first.Time
	s.mu.Unlock()
	return a, nil
}

// reopen returns the open attempt, or opens the instance's files to append to the last
// attempt. in.work is held.
func (s *Store) reopen(in *instance) (a *Attempt, opened bool, err error) {
	s.mu.Lock()
	a = in.open
	s.mu.Unlock()
	if a != nil {
		return a, false, nil
	}
	if err := s.makeFolder(s.path(in.id, "")); err != nil {
		return nil, false, err
	}
	path := s.path(in.id, journalFile)
	tail, err := journal.ReadTail(path)
	if err != nil {
		return nil, false, err
	}
	log, err := regular.OpenFile(s.path(in.id, agentLogFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, false, atomicfile.Fault("opening an instance's log", err)
	}
	j, err := journal.Open(path, tail, journal.Options{Durability: s.level, Files: s.files, Spend: s.addSpent, Mask: s.looks})
	if err != nil {
		return nil, false, errors.Join(err, log.Close())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a = &Attempt{store: s, in: in, number: in.number, journal: j, file: log, log: s.mask.Writer(printable.NewWriter(log))}
	in.open = a
	return a, true, nil
}

// makeFolder makes an instance's folder, or one in it. Its name is durable on return.
func (s *Store) makeFolder(path string) error {
	err := s.files.Inject.At("dir.make")
	if err == nil {
		err = os.Mkdir(path, 0o755)
	}
	if errors.Is(err, os.ErrExist) {
		return nil // if it is not a folder, opening a file in it fails
	}
	if err != nil {
		return atomicfile.Fault("creating an instance's folder", err)
	}
	return atomicfile.Fault("syncing the output directory", s.files.SyncDir(filepath.Dir(path)))
}

// Number returns the attempt's number, from 1 over all runs into the directory.
func (a *Attempt) Number() int { return a.number }

// Journal returns the instance's journal, open for this attempt.
func (a *Attempt) Journal() *journal.Writer { return a.journal }

// Log returns the instance's agent.log, opened for appending. Whole lines reach the system
// at once and are not synced. Control characters are escaped, so that people can follow the
// file in a terminal.
func (a *Attempt) Log() io.Writer { return a.log }

// Close hands buffered records to the system and closes the files. An attempt closed without a
// [Store.Put] is Pending until a later Put. A second Close does nothing.
func (a *Attempt) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil
	}
	a.closed = true
	last, ended := a.journal.State()
	a.store.mu.Lock()
	a.in.open = nil
	if known := len(a.in.past); !ended && (known == 0 || a.in.past[known-1].Record.Attempt != a.number) {
		a.in.past = append(a.in.past, brokenOff(a.in.id, last, a.started))
		a.in.state = abandoned
	}
	a.store.mu.Unlock()
	err := a.journal.Close()
	if logErr := errors.Join(a.log.Flush(), a.file.Close()); err == nil && logErr != nil {
		err = atomicfile.Fault("closing an instance's log", logErr)
	}
	return err
}

// unanswered returns the calls that an attempt's last record counts as lost.
func unanswered(last journal.Record) Unanswered {
	return Unanswered{Lost: last.Lost, Held: last.Held()}
}

// brokenOff returns the record of an attempt without an end record.
func brokenOff(id string, last journal.Record, started time.Time) pastAttempt {
	return pastAttempt{Spent: last.SpentSoFar(), Record: Record{
		InstanceID: id, Attempt: last.Attempt, Status: vocab.StatusInterrupted, Outcome: vocab.OutcomePending,
		Steps: last.Calls, Cost: last.Cost, Unanswered: unanswered(last), Started: started,
	}}
}

// History is [journal.ReadHistory] of the store's directory.
func (rd *Reader) History(id string) (*journal.History, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	return journal.ReadHistory(rd.path(id, journalFile))
}

// Resumable returns the settings of the attempt that [Store.Resume] would resume under the
// same settings, and whether there is such an attempt.
func (rd *Reader) Resumable(id string) (manifest.Settings, bool) {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	in := rd.instances[id]
	if in == nil || !in.state.resumable() {
		return manifest.Settings{}, false
	}
	return in.made, true
}

// sameSettings compares settings in their form in a journal.
func sameSettings(a, b manifest.Settings) bool { return len(a.Differences(b)) == 0 }

// readSettings reads the settings of an attempt record. Missing settings differ from all
// others.
func (d *attemptData) readSettings() manifest.Settings {
	var s manifest.Settings
	if json.Unmarshal(d.Settings, &s) != nil {
		return manifest.Settings{}
	}
	return s
}
