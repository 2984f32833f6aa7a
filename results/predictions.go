package results

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/regular"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/results/grades"
)

// Prediction is one prediction in preds.json.
type Prediction struct {
	InstanceID string
	Attempt    int    // the attempt that made it; 0: another tool
	Model      string // model_name_or_path
	Text       string // model_patch; empty if nothing was submitted
	Said       int    // messages of people that the agent was sent while it worked: said

	// Excused says that infrastructure, not the agent, ended the other tool's attempt, and left an
	// empty patch: it is not graded, and counts in no rate.
	Excused bool

	// Patch is the patch byte for byte. If it is not UTF-8, JSON cannot hold it and Text
	// differs: an attempt's Text is another patch with the same effect, an imported Text
	// lacks the invalid bytes.
	Patch []byte
}

// WithText returns p with the Text that [Store.Import] would set.
func (p Prediction) WithText() Prediction {
	p.Text = asText(p.Patch)
	return p
}

// Predictions returns the predictions of instances with one of the ids, in the order of
// preds.json; nil ids means all usable ones. If a named one cannot be used, it returns the
// Usage fault of [Reader.Fit].
func (rd *Reader) Predictions(ids []string) ([]Prediction, error) {
	rd.mu.Lock()
	entries := rd.preds.of(ids)
	if ids == nil {
		entries = slices.DeleteFunc(rd.preds.ordered(), func(e *prediction) bool { return e.unfit() != nil })
	}
	own, excused := make([]Record, len(entries)), make([]bool, len(entries))
	for i, e := range entries {
		own[i] = rd.own(e)
		if e.foreign != nil {
			r, _ := rd.foreignRecord(e)
			excused[i] = r.Excused()
		}
	}
	rd.mu.Unlock()
	var list []Prediction
	for i, e := range entries {
		p, err := rd.prediction(e, own[i])
		if err != nil {
			return nil, err
		}
		p.Excused = excused[i]
		list = append(list, p)
	}
	return list, nil
}

// own returns the record of the attempt that made the prediction; zero if another tool made
// it. Reader.mu is held.
func (rd *Reader) own(e *prediction) Record {
	if in := rd.instances[e.id]; e.foreign == nil && in != nil && in.state == final {
		return in.past[len(in.past)-1].Record
	}
	return Record{}
}

// Stands reports whether preds.json has this prediction for its instance.
func (rd *Reader) Stands(p grades.Prediction) bool {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	e := rd.preds.get(p.InstanceID)
	return e != nil && e.patch == p.Patch && rd.own(e).Attempt == p.Attempt
}

func (rd *Reader) prediction(e *prediction, r Record) (Prediction, error) {
	if e.unfit() != nil {
		return Prediction{}, rd.unfit(e)
	}
	text, err := e.text()
	if err != nil {
		return Prediction{}, err
	}
	read := swebench.PredictionOf(e.id, text)
	p := Prediction{InstanceID: e.id, Attempt: r.Attempt, Model: read.Model, Text: read.Patch, Said: max(r.Said, read.Said), Patch: []byte(read.Patch)}
	if checkID(e.id) != nil {
		return p, nil
	}
	name := e.id + ".patch"
	if r.Salvaged {
		name = e.id + ".salvaged.patch"
	}
	exact, err := regular.ReadFile(rd.path(e.id, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Prediction{}, atomicfile.Fault("reading a patch", err)
	}
	// Otherwise the text is the patch, whatever the file contains now.
	if err == nil && !utf8.Valid(exact) && (r.Attempt > 0 || asText(exact) == p.Text) {
		p.Patch = exact
	}
	return p, nil
}

// Fit returns a Usage fault if preds.json has an unusable entry for one of the instances, such
// as one with a list as its patch. Running the instance would replace a prediction that may
// have been paid for.
func (rd *Reader) Fit(ids []string) error {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	for _, e := range rd.preds.of(ids) {
		if e.unfit() != nil {
			return rd.unfit(e)
		}
	}
	return nil
}

// unfit returns the fault of an unusable entry.
func (rd *Reader) unfit(e *prediction) error {
	return swebench.PredictionsFault(filepath.Join(rd.dir, predsFile), "", fmt.Errorf("%w, in the entry of %s", e.unfit(), e.id)).
		WithHint("correct the entry, or remove it to have the instance run")
}

// unfit returns why the entry cannot be used as a prediction; nil: it can be.
func (e *prediction) unfit() error {
	if e.foreign == nil {
		return nil
	}
	return e.foreign.unfit
}

// Repeated returns the instances with several entries in preds.json when it was read, and
// how many. The last entry counts.
func (rd *Reader) Repeated() map[string]int { return maps.Clone(rd.preds.times) }

// asText returns a patch as text, without the bytes that are not UTF-8.
func asText(patch []byte) string { return strings.ToValidUTF8(string(patch), "\uFFFD") }

// Import adds other tools' predictions, by their Patch, to preds.json, durably. Existing
// predictions stay. If [Reader.CanImport] refuses, nothing is changed. A patch that is not
// UTF-8 is also kept in the instance's folder.
func (s *Store) Import(list []Prediction) error {
	if err := s.check("importing predictions"); err != nil {
		return err
	}
	if err := s.CanImport(list); err != nil {
		return err
	}
	s.mu.Lock()
	p := s.preds.clone()
	s.mu.Unlock()
	for _, in := range list {
		e, err := s.imported(in)
		if err != nil {
			return err
		}
		p.set(e)
	}
	s.mu.Lock()
	s.preds = p
	s.mu.Unlock()
	return s.writer.flushNow()
}

// CanImport refuses, as a Usage fault, to import into a directory with its own attempts, to
// replace an existing prediction by another one, and to mix predictions of different
// models.
func (rd *Reader) CanImport(list []Prediction) error {
	rd.mu.Lock()
	attempts := slices.Sorted(maps.Keys(rd.instances))
	rd.mu.Unlock()
	refuse := func(format string, args ...any) error {
		return fault.Newf(fault.Usage, "%s "+format, append([]any{rd.dir}, args...)...).WithHint("choose another directory with -o")
	}
	if len(attempts) > 0 {
		return refuse("has attempts of its own, such as at %s", attempts[0])
	}
	standing, err := rd.Predictions(nil)
	if err != nil {
		return err
	}
	models, patches := map[string]bool{}, map[string][]byte{}
	for _, in := range list {
		if err := rd.Fit([]string{in.InstanceID}); err != nil {
			return err
		}
		models[in.Model], patches[in.InstanceID] = true, in.Patch
	}
	for _, p := range standing {
		patch, again := patches[p.InstanceID]
		switch {
		case len(list) > 0 && !models[p.Model]:
			return refuse("has predictions of another model: %q, such as at %s", p.Model, p.InstanceID)
		case again && !bytes.Equal(patch, p.Patch):
			return refuse("has another prediction of %s", p.InstanceID)
		}
	}
	return nil
}

func (s *Store) imported(in Prediction) (*prediction, error) {
	if err := checkID(in.InstanceID); err != nil {
		return nil, err
	}
	if !utf8.Valid(in.Patch) {
		if err := MakeDir(s.path(in.InstanceID, "")); err != nil {
			return nil, err
		}
		err := s.files.Write(s.path(in.InstanceID, in.InstanceID+".patch"), 0o644, atomicfile.Bytes(in.Patch))
		if err != nil {
			return nil, atomicfile.Fault("writing a patch", err)
		}
	}
	d := predictionData{Model: strings.ToValidUTF8(in.Model, "\uFFFD"), Patch: asText(in.Patch), Said: in.Said}
	e, err := newPrediction(in.InstanceID, d)
	if err != nil {
		return nil, err
	}
	e.foreign = &foreignEntry{model: d.Model, patchBytes: len(d.Patch), imported: true}
	return e, nil
}
