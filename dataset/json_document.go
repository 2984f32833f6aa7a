package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"batch.example/batch/fault"
)

// document reads JSON that is not one row per line. It reads the top level token by token, so that
// rows keep their order and position.
type document struct {
	name string
	data []byte
	dec  *json.Decoder
}

func (d *document) broken(err error) error {
	at := int(d.dec.InputOffset())
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = int(syntax.Offset)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		at = len(d.data)
	}
	return brokenJSON(fmt.Sprintf("%s line %d", d.name, lineAt(d.data, at)), err)
}

// list reads rows up to the closing bracket.
func (d *document) list() ([]row, error) {
	var rows []row
	for d.dec.More() {
		at := place{d.name, "row", len(rows) + 1}
		v, err := d.value()
		if err != nil {
			return nil, err
		}
		fields, ok := v.(map[string]any)
		if !ok {
			return nil, fault.Newf(fault.Usage, "reading %s: %s where a row should be", at, describe(v))
		}
		if inner, ok := fields["row"].(map[string]any); ok && fields["instance_id"] == nil {
			fields = inner
		}
		rows = append(rows, row{at, fields})
	}
	_, err := d.dec.Token()
	if err != nil {
		return nil, d.broken(err)
	}
	return rows, nil
}

// member is one name and value of the top-level object.
type member struct {
	key   string
	value any
}

// object reads one row, rows by id, or the dataset viewer's envelope.
func (d *document) object() ([]row, error) {
	var members []member
	single := map[string]any{}
	for d.dec.More() {
		token, err := d.dec.Token()
		if err != nil {
			return nil, d.broken(err)
		}
		key, _ := token.(string) // the decoder accepts only a string here
		v, err := d.value()
		if err != nil {
			return nil, err
		}
		members = append(members, member{key, v})
		single[key] = v
	}
	if _, err := d.dec.Token(); err != nil {
		return nil, d.broken(err)
	}
	one := row{place{d.name, "row", 1}, single}.named()
	if _, ok := one.fields["instance_id"]; ok {
		return []row{one}, nil
	}
	if list, ok := single["rows"].([]any); ok {
		return d.envelope(list)
	}
	if isRow(members) {
		return nil, noID(place{d.name, "row", 1}, single)
	}
	return d.byID(members)
}

// isRow distinguishes a row without an id from rows by id: it has a column of SWE-bench rows, or no
// value that could be a row.
func isRow(members []member) bool {
	objects := 0
	for _, m := range members {
		switch m.key {
		case "repo", "base_commit", "problem_statement", "patch", "test_patch", "image_name":
			return true
		}
		if _, ok := m.value.(map[string]any); ok {
			objects++
		}
	}
	return len(members) > 0 && objects == 0
}

// byID reads {"<instance_id>": {row}}; the row need not repeat its id.
func (d *document) byID(members []member) ([]row, error) {
	var rows []row
	for i, m := range members {
		at := place{d.name, "row", i + 1}
		fields, ok := m.value.(map[string]any)
		if !ok {
			return nil, fault.Newf(fault.Usage, "reading %s: %q holds %s where a row should be", at, m.key, describe(m.value)).
				WithHint(`write a list of rows, one row per line, or {"<instance_id>": {row}}`)
		}
		if id, ok := fields["instance_id"]; !ok {
			fields["instance_id"] = m.key
		} else if id != m.key {
			return nil, fault.Newf(fault.Usage, "reading %s: the row under %q has the instance_id %v", at, m.key, id)
		}
		rows = append(rows, row{at, fields})
	}
	return rows, nil
}

func (d *document) envelope(list []any) ([]row, error) {
	rows := make([]row, len(list))
	for i, v := range list {
		at := place{d.name, "row", i + 1}
		fields, ok := v.(map[string]any)
		if !ok {
			return nil, fault.Newf(fault.Usage, "reading %s: %s where a row should be", at, describe(v))
		}
		if cut, _ := fields["truncated_cells"].([]any); len(cut) > 0 {
			return nil, fault.Newf(fault.Usage, "reading %s: the dataset viewer cut the cells %v short", at, cut).
				WithHint("use the dataset's parquet files")
		}
		if inner, ok := fields["row"].(map[string]any); ok {
			fields = inner
		}
		rows[i] = row{at, fields}
	}
	return rows, nil
}

func (d *document) value() (any, error) {
	var v any
	if err := d.dec.Decode(&v); err != nil {
		return nil, d.broken(err)
	}
	return plain(v), nil
}
