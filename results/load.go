package results

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/printable"
	"batch.example/batch/swebench"
)

// loadPredictions reads preds.json. One that cannot be read is refused: what is in it may have
// been paid for. One in another form than [writePredictions] has is written again, and kept.
func (s *Store) loadPredictions(folders []os.DirEntry) (changed bool, err error) {
	path := filepath.Join(s.dir, predsFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, atomicfile.Fault("reading predictions", err)
	}
	if isBlank(text) && s.hasJournals(folders) {
		s.tell("%s is empty, as a power cut leaves a file: what the journals have is put back", predsFile)
		return false, nil
	}
	about, err := swebench.ScanPredictions(path, text, func(p swebench.Prediction) error {
		s.preds.set(loadPrediction(p))
		return nil
	})
	if isBlank(text) {
		err = swebench.PredictionsFault(path, "", errors.New("it is empty")).WithHint("remove it to have the instances run again")
	}
	if err == nil && s.allUnfit() && !s.hasJournals(folders) {
		err = swebench.PredictionsFault(path, "", fmt.Errorf("it has no prediction: %w", s.preds.ordered()[0].unfit()))
	}
	if err != nil && s.lenient {
		s.tell("%s, up to there, %s counted: %v", predsFile,
			printable.Count(len(s.preds.entries), "prediction is", "predictions are"), err)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	s.preds.times = about.Times
	s.tellEntries(about.Notes)
	return s.keepOriginal(path, about)
}

// allUnfit reports whether no entry can be used, as in an object that has all predictions in one
// of its members. Nothing would keep the instances in it from running.
func (s *Store) allUnfit() bool {
	entries := s.preds.ordered()
	return len(entries) > 0 && !slices.ContainsFunc(entries, func(e *prediction) bool { return e.unfit() == nil })
}

// isBlank reports whether a file holds nothing. After a power cut it may have zeros.
func isBlank(text []byte) bool { return len(bytes.Trim(text, " \t\r\n\x00")) == 0 }

// hasJournals reports whether attempts of batch stand in the directory.
func (s *Store) hasJournals(folders []os.DirEntry) bool {
	return slices.ContainsFunc(folders, func(e os.DirEntry) bool {
		_, err := os.Stat(s.path(e.Name(), journalFile))
		return err == nil
	})
}

// tellEntries shows the notes on single entries of preds.json.
func (s *Store) tellEntries(notes []string) {
	for _, e := range s.preds.ordered() {
		if e.unfit() != nil {
			notes = append(notes, e.unfit().Error()+": the entry of "+printable.Line(e.id)+" is kept, and cannot be graded")
		}
	}
	const most = 5
	for _, note := range notes[:min(most, len(notes))] {
		s.tell("%s: %s", predsFile, note)
	}
	if more := len(notes) - most; more > 0 {
		s.tell("%s: and %s like these", predsFile, printable.Count(more, "entry", "entries"))
	}
}

// keepOriginal keeps a preds.json whose form is lost when it is written again.
func (s *Store) keepOriginal(path string, about swebench.About) (changed bool, err error) {
	form := about.Form
	if len(about.Notes) > 0 {
		form = append(form, "has entries that are not written again")
	}
	switch {
	case len(form) == 0:
		return false, nil
	case s.lenient:
		s.tell("%s %s", predsFile, strings.Join(form, ", "))
		return false, nil
	case s.reading:
		s.tell("%s %s: the next run writes it in its own form and keeps the original", predsFile, strings.Join(form, ", "))
		return false, nil
	}
	kept, err := s.files.KeepCopy(path)
	if err != nil {
		return false, atomicfile.Fault("keeping the original of "+predsFile, err)
	}
	s.tell("%s %s: it is written in batch's form, and the original is kept as %s", predsFile, strings.Join(form, ", "), filepath.Base(kept))
	return true, nil
}
