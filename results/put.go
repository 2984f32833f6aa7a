package results

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"slices"
	"unicode/utf8"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/python"
	"batch.example/batch/journal"
	"batch.example/batch/results/manifest"
)

// predictionData is the data of a prediction record.
type predictionData struct {
	Model string `json:"model_name_or_path"`
	Patch string `json:"model_patch"`
	Said  int    `json:"said,omitempty"`
}

func (p predictionData) digest() string {
	sum := sha256.Sum256([]byte(p.Model + "\x00" + p.Patch))
	return hex.EncodeToString(sum[:])
}

// Put saves the result of an attempt. When it returns nil, the patch, the trajectory and
// the outcome are durable; preds.json follows within [Options.FlushEvery], and after a
// crash when the directory is opened again.
//
// The attempt is the open one, or the last one if this process began it and it has no
// result yet. Otherwise, if r.Record.Attempt names the last attempt, Put replaces its
// result; if not, it makes a new attempt. Put sets r.Record's attempt and patch size, and
// returns the prediction that it made from r, or nil if the outcome is not final. It does
// not stop when ctx is canceled: a paid result is worth the few milliseconds.
func (s *Store) Put(_ context.Context, r *Result) (*Prediction, error) {
	if err := checkResult(r); err != nil {
		return nil, err
	}
	in, err := s.instance(r.Record.InstanceID)
	if err != nil {
		return nil, err
	}
	in.work.Lock()
	defer in.work.Unlock()
	a, opened, err := s.attemptFor(in, r.Record.Attempt)
	if err != nil {
		return nil, err
	}
	s.tellSecrets(r)
	r.Record.Error = s.mask.Text(r.Record.Error)
	r.Record.Attempt = a.number
	if last, _ := a.journal.State(); r.Record.Steps == 0 && last.Attempt == a.number { // nothing is known after a panic
		r.Record.Steps, r.Record.Cost = last.Calls, max(r.Record.Cost, last.Cost)
	}
	if last, _ := a.journal.State(); last.Attempt == a.number {
		r.Record.Lost, r.Record.Held = last.Lost, last.Held()
	}
	r.Record.PatchBytes = patchBytes(r)
	err = s.put(in, a, r)
	if opened {
		err = errors.Join(err, a.Close())
	}
	if err != nil || !r.Record.Outcome.Final() {
		return nil, err
	}
	return r.made(), nil
}

// made returns the prediction that [Reader.Predictions] will read for r.
func (r *Result) made() *Prediction {
	p := &Prediction{InstanceID: r.Record.InstanceID, Attempt: r.Record.Attempt, Model: r.Record.Model, Text: r.Prediction, Said: r.Record.Said}
	exact := r.Submission
	if r.Record.Salvaged {
		exact = r.Salvage
	}
	if p.Patch = []byte(p.Text); !utf8.Valid(exact) {
		p.Patch = exact
	}
	return p
}

// tellSecrets warns of secrets that will be stored unhidden. It logs an error, so that a
// run without a display also shows it.
func (s *Store) tellSecrets(r *Result) {
	names := s.mask.Names(r.Submission)
	if len(names) == 0 {
		names = s.mask.Names([]byte(r.Prediction))
	}
	if len(names) > 0 {
		s.log.Load().Error("the patch holds a secret, and is kept as it is: look at it before you pass it on",
			"instance", r.Record.InstanceID, "secrets", names)
	}
}

func checkResult(r *Result) error {
	id := r.Record.InstanceID
	switch {
	case !utf8.ValidString(r.Prediction):
		return fault.Newf(fault.Bug, "saving %q: the prediction is not valid UTF-8", id)
	case !utf8.ValidString(r.Record.Model) || !utf8.ValidString(id):
		return fault.Newf(fault.Bug, "saving %q: the model's or the instance's name is not valid UTF-8", id)
	}
	return nil
}

func patchBytes(r *Result) int {
	switch {
	case r.Record.Salvaged:
		return len(r.Salvage)
	case r.Submission != nil:
		return len(r.Submission)
	}
	return len(r.Prediction)
}

// attemptFor returns the attempt that a result with the given number belongs to.
func (s *Store) attemptFor(in *instance, number int) (a *Attempt, opened bool, err error) {
	s.mu.Lock()
	known := in.open != nil || in.state.owed() || number > 0 && number == in.number
	s.mu.Unlock()
	if known {
		return s.reopen(in)
	}
	a, err = s.begin(in, manifest.Settings{})
	return a, true, err
}

func (s *Store) put(in *instance, a *Attempt, r *Result) error {
	// There is still an entry only if this is a second result of one attempt.
	if err := s.dropPredictions(in.id); err != nil {
		return err
	}
	if err := a.journal.Flush(); err != nil { // the trajectory is written from it
		return err
	}
	h := s.historyOf(in.id)
	if err := s.writeInstanceFiles(r, s.shownOf(in.id, h), r); err != nil {
		return err
	}
	p := predictionData{Model: r.Record.Model, Patch: r.Prediction, Said: r.Record.Said}
	last, _ := a.journal.State()
	end := endData{pastAttempt: pastAttempt{Record: r.Record, Spent: max(r.Record.Cost, last.SpentSoFar())}, Notes: r.Notes}
	end.Earlier, _ = s.others(in, a.number)
	if end.Notes.Salvage == string(r.Salvage) {
		end.Notes.Salvage = "" // it has a record of its own
	}
	if r.Record.Outcome.Final() {
		end.Prediction = p.digest()
	}
	items, err := endItems(h, r, p, end)
	if err != nil {
		return err
	}
	if err := a.journal.Finish(items...); err != nil {
		return err
	}
	return s.commit(in, a, end, p)
}

// endItems returns the records that end an attempt. They have every part of its result that
// is not in the journal yet, so that [resultOf] finds it there. A record may also withdraw
// the patch of an earlier record.
func endItems(h *journal.History, r *Result, p predictionData, end endData) ([]journal.Record, error) {
	var items []journal.Record
	var err error
	add := func(typ string, v any) {
		data, encodeErr := python.Compact(v)
		if encodeErr != nil {
			err = fault.New(fault.Bug, "encoding a journal record of type "+typ, encodeErr)
		}
		items = append(items, journal.Record{Type: typ, Data: data})
	}
	submission, salvage := patchesOf(h)
	if !same(submission, r.Submission) {
		add(journal.TypeSubmission, journal.SubmissionData{Submission: r.Submission})
	}
	if !same(salvage, r.Salvage) {
		add(journal.TypeSalvage, journal.SalvageData{Patch: r.Salvage})
	}
	if end.Prediction != "" || r.Prediction != "" || h.Prediction != nil {
		add(journal.TypePrediction, p)
	}
	add(journal.TypeEnd, end)
	return items, err
}

// same reports whether a and b are equal. Nil differs from empty.
func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// others returns the attempts before number, and the attempt number itself if it already
// has a result.
func (s *Store) others(in *instance, number int) ([]pastAttempt, *pastAttempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	past := slices.Clone(in.past)
	if n := len(past); n > 0 && past[n-1].Record.Attempt == number {
		return past[:n-1], &past[n-1]
	}
	return past, nil
}

// commit publishes a durable result.
func (s *Store) commit(in *instance, a *Attempt, end endData, p predictionData) error {
	var entry *prediction
	if end.Prediction != "" {
		e, err := newPrediction(in.id, p)
		if err != nil {
			return err
		}
		entry = e
	}
	earlier, replaced := s.others(in, a.number)
	last, _ := a.journal.State()
	spent, held := last.SpentSoFar(), last.Held() // reported to the store as the replies came
	if replaced != nil {
		spent, held = replaced.Spent, replaced.Record.Held
	}
	s.mu.Lock()
	in.past = append(earlier, end.pastAttempt)
	in.state = stateAfter(end.Record)
	s.spent += end.Spent - spent
	s.held += end.Record.Held - held
	if entry != nil {
		s.preds.set(entry)
	}
	s.mu.Unlock()
	s.writer.markDirty()
	return nil
}

// writeOrRemove replaces a file, or removes it if b is nil.
func (s *Store) writeOrRemove(path string, b []byte) error {
	if b != nil {
		return s.writeBytes(path, b)
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := s.files.Inject.At("file.remove"); err != nil {
		return err
	}
	return os.Remove(path)
}

// writeBytes replaces a file; the caller syncs the directory.
func (s *Store) writeBytes(path string, b []byte) error {
	return s.files.WriteUnsynced(path, 0o644, atomicfile.Bytes(b))
}
