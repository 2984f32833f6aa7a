package swebench

import (
	"io"
	"iter"

	"batch.example/batch/internal/python"
)

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
