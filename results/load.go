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
	"batch.example/batch/internal/regular"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/results/manifest"
)

// loadPredictions reads preds.json, and passes its notes or its error to say. An unreadable
// file may contain paid results.
func (rd *Reader) loadPredictions(folders []os.DirEntry, say func(swebench.About, error) error) error {
	path := filepath.Join(rd.dir, predsFile)
	text, err := regular.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return atomicfile.Fault("reading predictions", err)
	}
	if isBlank(text) && rd.hasJournals(folders) {
		rd.tell("%s is empty, as a power cut leaves a file: what the journals have is put back", predsFile)
		return nil
	}
	m, _ := manifest.Read(rd.dir) //nolint:errcheck // without one, the entries may be of attempts
	about, err := swebench.ScanPredictions(path, text, func(p swebench.Prediction) error {
		e := loadPrediction(p)
		e.foreign.imported = m != nil && m.OnlyGraded()
		rd.preds.set(e)
		return nil
	})
	if isBlank(text) {
		err = swebench.PredictionsFault(path, "", errors.New("it is empty")).WithHint("remove it to have the instances run again")
	}
	if err == nil && rd.allUnfit() && !rd.hasJournals(folders) {
		err = swebench.PredictionsFault(path, "", fmt.Errorf("it has no prediction: %w", rd.preds.ordered()[0].unfit()))
	}
	if err == nil {
		rd.preds.times = about.Times
		rd.tellEntries(about.Notes)
	}
	return say(about, err)
}

// allUnfit reports whether no entry can be used, such as in an object with all predictions in
// one member. Otherwise the instances in it would run again.
func (rd *Reader) allUnfit() bool {
	entries := rd.preds.ordered()
	return len(entries) > 0 && !slices.ContainsFunc(entries, func(e *prediction) bool { return e.unfit() == nil })
}

// isBlank reports whether a file is empty. After a power cut it may contain zeros.
func isBlank(text []byte) bool { return len(bytes.Trim(text, " \t\r\n\x00")) == 0 }

// hasJournals reports whether the directory has attempts of batch.
func (rd *Reader) hasJournals(folders []os.DirEntry) bool {
	return slices.ContainsFunc(folders, func(e os.DirEntry) bool {
		_, err := os.Stat(rd.path(e.Name(), journalFile))
		return err == nil
	})
}

// tellEntries shows the notes on single entries of preds.json.
func (rd *Reader) tellEntries(notes []string) {
	for _, e := range rd.preds.ordered() {
		if e.unfit() != nil {
			notes = append(notes, e.unfit().Error()+": the entry of "+printable.Line(e.id)+" is kept, and cannot be graded")
		}
	}
	const most = 5
	for _, note := range notes[:min(most, len(notes))] {
		rd.tell("%s: %s", predsFile, note)
	}
	if more := len(notes) - most; more > 0 {
		rd.tell("%s: and %s like these", predsFile, printable.Count(more, "entry", "entries"))
	}
}

// lostForm names the properties of a preds.json that are lost when [writePredictions] writes
// it again; "" if none.
func lostForm(about swebench.About) string {
	form := about.Form
	if len(about.Notes) > 0 {
		form = append(form, "has entries that are not written again")
	}
	return strings.Join(form, ", ")
}

// keepOriginal keeps a preds.json that would lose its form when it is written again.
func (s *Store) keepOriginal(about swebench.About) (kept bool, err error) {
	form := lostForm(about)
	if form == "" {
		return false, nil
	}
	copied, err := s.files.KeepCopy(filepath.Join(s.dir, predsFile))
	if err != nil {
		return false, atomicfile.Fault("keeping the original of "+predsFile, err)
	}
	s.tell("%s %s: it is written in batch's form, and the original is kept as %s", predsFile, form, filepath.Base(copied))
	return true, nil
}
