package swebench

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"batch.example/batch/fault"
	"batch.example/batch/internal/printable"
	"batch.example/batch/internal/python"
	"batch.example/batch/vocab"
)

// Prediction is one entry of a file of predictions.
type Prediction struct {
	InstanceID string
	Model      string // model_name_or_path; empty if the file does not have it
	Patch      string // empty if it is null
	Said       int    // messages of people that the agent was sent; 0 if the file has no such number
	Where      string // "line 3" or "entry 2"; empty if it is not known
	Text       []byte // the entry as JSON, with its other members; valid until [ScanPredictions] returns

	// Unfit says why the entry cannot be used as a prediction, such as `model_patch has to be a
	// string`. Model and Patch then have what could be read. Nil means that it can be used.
	Unfit error
}

// CheckNames refuses a prediction if no folder can be named after its instance.
func (p Prediction) CheckNames() error {
	if err := vocab.CheckID(p.InstanceID); err != nil {
		return fmt.Errorf("instance_id %q %w", p.InstanceID, err)
	}
	return nil
}

// About describes what is unusual about a file that was read.
type About struct {
	// Form says how the file differs from plain JSON with one object that is keyed by instance.
	// These differences are lost if the predictions are written again in that form.
	Form []string

	Notes []string       // about single entries, such as an instance that occurs twice
	Times map[string]int // how often the file has an instance, for instances that occur more than once
}

// Predictions is a file of predictions. It has the last prediction of each instance, in the order
// in which the instances first occur.
type Predictions struct {
	Name string
	List []Prediction
	About
}

// ReadPredictions reads the file at path, as [DecodePredictions] does.
func ReadPredictions(path string) (Predictions, error) {
	data, err := os.ReadFile(path) // a person may name a pipe
	if err != nil {
		return Predictions{}, fault.New(fault.Usage, "reading predictions", err)
	}
	return DecodePredictions(path, data)
}

// DecodePredictions reads a file of predictions that will be used: each must be fit, and its
// instance must be usable as a folder name. A file without predictions is refused. See
// [ScanPredictions].
func DecodePredictions(name string, data []byte) (Predictions, error) {
	f := Predictions{Name: name}
	at := map[string]int{}
	var err error
	f.About, err = ScanPredictions(name, data, func(p Prediction) error {
		p.Text = nil // it would keep the whole file in memory
		if err := errors.Join(p.Unfit, p.CheckNames()); err != nil {
			return err
		}
		if i, twice := at[p.InstanceID]; twice {
			f.List[i] = p
			return nil
		}
		at[p.InstanceID] = len(f.List)
		f.List = append(f.List, p)
		return nil
	})
	if err == nil && len(f.List) == 0 {
		err = PredictionsFault(name, "", errors.New("it has no predictions"))
	}
	if err != nil {
		return Predictions{}, err
	}
	return f, nil
}

// ScanPredictions reads a file of predictions: a JSON list of rows, a JSON object of rows by
// instance, or rows that follow each other, such as one per line. It detects the form from the
// content. It calls take with each row in the file's order; a later row of an instance replaces the
// earlier one.
//
// A row has instance_id (or is an entry of an object by instance), model_name_or_path (or prefix),
// and model_patch (or patch, or fix_patch), which may be null; with org, repo and number, as in
// Multi-SWE-bench, it needs no instance_id. This covers the files of the official harness,
// SWE-agent, mini-swe-agent, SWE-bench-Live, SWE-bench Pro and Multi-SWE-bench. Text keeps all
// other members.
//
// A byte order mark, NaN and Infinity, bytes that are not UTF-8 and superfluous commas are
// tolerated and named in [About.Form]. Text has the escape of Python's surrogateescape (\udce9) for
// a byte that is not UTF-8, and null for NaN. A row that names its instance but is not a prediction
// is taken as unfit. Anything else, and an error of take, ends the reading: the error is a usage
// fault that names the file, and the line or entry. All rows before that place were taken.
func ScanPredictions(name string, data []byte, take func(Prediction) error) (About, error) {
	d := decoder{file: name, first: map[string]string{}, each: take}
	if err := d.clean(data); err != nil {
		return d.about, err
	}
	err := d.all()
	return d.about, err
}

// PredictionOf parses the Text of a prediction again.
func PredictionOf(instance string, text []byte) Prediction {
	p, err := readRow(instance, text)
	p.Unfit = err
	return p
}

// PredictionsFault is the usage fault for a file of predictions; where is the line or entry.
func PredictionsFault(file, where string, err error) *fault.Error {
	if where != "" {
		where += ": "
	}
	return fault.New(fault.Usage, "reading predictions", fmt.Errorf("%s: %s%w", file, where, err)).
		WithHint("expected a JSON list, an object by instance, or a line for each row, with instance_id, model_name_or_path and model_patch")
}

// decoder reads the rows of one file.
type decoder struct {
	file string
	text
	first map[string]string // instance to the place where the file last had it
	about About
	each  func(Prediction) error

	surplus bool // a superfluous comma was noted
}

func (d *decoder) fault(where string, err error) error { return PredictionsFault(d.file, where, err) }

// differs notes a way in which the file differs from the plain form.
func (d *decoder) differs(how string) { d.about.Form = append(d.about.Form, how) }

// clean takes the file's data without the parts that are only tolerated.
func (d *decoder) clean(data []byte) error {
	if bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		return d.fault("", errors.New("the text is UTF-16: save it as UTF-8"))
	}
	if rest, marked := bytes.CutPrefix(data, []byte("\ufeff")); marked {
		data = rest
		d.differs("begins with a byte order mark")
	}
	data, line := escapeBytes(data)
	if line > 0 {
		d.differs(fmt.Sprintf("has bytes that are not UTF-8, the first in line %d", line))
	}
	d.exact, d.data = data, data
	if replaced := finite(data, numbers); !bytes.Equal(replaced, data) {
		d.data = replaced
		d.differs("has NaN or Infinity, which JSON does not have")
	}
	return nil
}

// add takes the row at data[start:end].
func (d *decoder) add(where, key string, start, end int) error {
	p, err := readRow(key, d.data[start:end])
	if err != nil && p.InstanceID == "" {
		return d.fault(where, err)
	}
	p.Where, p.Unfit, p.Text = where, err, d.data[start:end]
	if exact := d.exact[start:end]; !bytes.Equal(exact, p.Text) {
		p.Text = finite(exact, nulls)
	}
	shown := printable.Line(p.InstanceID)
	if key != "" && key != p.InstanceID {
		d.about.Notes = append(d.about.Notes, fmt.Sprintf("%s: %q has the instance_id %s, which counts", where, printable.Line(key), shown))
	}
	if first, twice := d.first[p.InstanceID]; twice {
		d.about.Notes = append(d.about.Notes, fmt.Sprintf("%s: %s again; it replaces %s", where, shown, first))
		if d.about.Times == nil {
			d.about.Times = map[string]int{}
		}
		d.about.Times[p.InstanceID] = max(1, d.about.Times[p.InstanceID]) + 1
	}
	d.first[p.InstanceID] = where
	if err := d.each(p); err != nil {
		return d.fault(where, err)
	}
	return nil
}

// PredsEntry returns a prediction's entry in preds.json, in mini-swe-agent's form. Only the entry of
// a prediction that a person helped with has another member: said, the number of messages.
func PredsEntry(id, model, patch string, said int) ([]byte, error) {
	return python.JSON(struct {
		Model string `json:"model_name_or_path"`
		ID    string `json:"instance_id"`
		Patch string `json:"model_patch"`
		Said  int    `json:"said,omitempty"`
	}{model, id, patch, said}, "  ")
}

// PredsEntry returns the Text of p as an entry of preds.json, with all its members.
func (p Prediction) PredsEntry() ([]byte, error) { return python.Indent(p.Text, "  ") }

// WritePreds writes a preds.json as Python's json.dumps(indent=2) does. An entry is an instance
// with a function that returns its text; see PredsEntry.
func WritePreds(w io.Writer, entries iter.Seq2[string, func() ([]byte, error)]) error {
	before := "{\n  "
	for id, entry := range entries {
		key, err := python.JSON(id, "")
		if err != nil {
			return err
		}
		text, err := entry()
		if err != nil {
			return err
		}
		for _, part := range [][]byte{[]byte(before), key, []byte(": "), text} {
			if _, err := w.Write(part); err != nil {
				return err
			}
		}
		before = ",\n  "
	}
	end := "\n}"
	if before[0] == '{' {
		end = "{}"
	}
	_, err := io.WriteString(w, end)
	return err
}
