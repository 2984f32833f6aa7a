package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"batch.example/batch/fault"
)

// readJSON reads a list of rows, an object of rows by id, one row, rows as the
// Hugging Face dataset viewer serves them ({"rows": [{"row": ..}]}), or one row per line.
func readJSON(name string, data []byte) ([]row, error) {
	if err := checkText(name, data); err != nil {
		return nil, err
	}
	rows, err := decodeRows(name, data)
	for _, r := range rows {
		for column, v := range r.fields {
			if r.fields[column], err = written(v); err != nil {
				return nil, fault.New(fault.Usage, fmt.Sprintf("reading %s: column %s", r.place, column), err)
			}
		}
	}
	return rows, err
}

func decodeRows(name string, data []byte) ([]row, error) {
	if isLines(data) {
		return readLines(name, data)
	}
	d := &document{name: name, data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	d.dec.UseNumber()
	open, err := d.dec.Token()
	if err != nil {
		return nil, d.broken(err)
	}
	var rows []row
	if open == json.Delim('[') {
		rows, err = d.list()
	} else {
		rows, err = d.object()
	}
	if err != nil {
		return nil, err
	}
	rest := data[d.dec.InputOffset():]
	if open == json.Delim('{') && bytes.HasPrefix(bytes.TrimLeft(rest, " \t"), []byte("{")) {
		return nil, twoRows(fmt.Sprintf("%s line %d", name, lineAt(data, len(data)-len(rest))))
	}
	if _, err := d.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, d.broken(errors.New("more text behind the end of the rows"))
	}
	return rows, nil
}

// checkText refuses text that the JSON decoder would silently change.
func checkText(name string, data []byte) error {
	if !utf8.Valid(data) {
		n := 0
		for r, size := utf8.DecodeRune(data); r != utf8.RuneError || size != 1; r, size = utf8.DecodeRune(data[n:]) {
			n += size
		}
		return fault.Newf(fault.Usage, "reading %s line %d: byte %#x is not UTF-8", name, lineAt(data, n), data[n]).
			WithHint("JSON holds text only: keep such patches in parquet or in a task repo")
	}
	if n := halfCharacter(data); n >= 0 {
		return fault.Newf(fault.Usage, "reading %s line %d: %s is half a character", name, lineAt(data, n), data[n:n+6]).
			WithHint("it stands for a byte that is not UTF-8: keep such patches in parquet or in a task repo")
	}
	return nil
}

// halfCharacter returns the position of a surrogate escape without its other half, or -1.
func halfCharacter(data []byte) int {
	for at := 0; ; {
		n := bytes.IndexByte(data[at:], '\\')
		if n < 0 {
			return -1
		}
		at += n
		switch r := escapeAt(data[at:]); {
		case r < 0xd800 || r > 0xdfff:
			at = min(at+2, len(data)) // skip both bytes of an escaped backslash, so that no escape is missed
		case r < 0xdc00 && escapeAt(data[at+6:]) >= 0xdc00 && escapeAt(data[at+6:]) <= 0xdfff:
			at += 12
		default:
			return at
		}
	}
}

// escapeAt returns the code of the \u escape that data starts with, or -1.
func escapeAt(data []byte) int64 {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(data[2:6]), 16, 32)
	if err != nil {
		return -1
	}
	return int64(n)
}

func lineAt(data []byte, offset int) int {
	return 1 + bytes.Count(data[:min(offset, len(data))], []byte("\n"))
}

// isLines reports whether data has one row per line: the first line is a whole object and is not
// the last.
func isLines(data []byte) bool {
	data = bytes.TrimLeft(data, " \t\r\n")
	first, rest, _ := bytes.Cut(data, []byte("\n"))
	return first[0] == '{' && json.Valid(first) && len(bytes.TrimSpace(rest)) > 0
}

func readLines(name string, data []byte) ([]row, error) {
	var rows []row
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		at := place{name, "line", n}
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.UseNumber()
		var v any
		err := dec.Decode(&v)
		if rest := bytes.TrimSpace(line[min(dec.InputOffset(), int64(len(line))):]); err == nil && len(rest) > 0 {
			if rest[0] == '{' {
				return nil, twoRows(at.String())
			}
			err = errors.New("more text behind the row")
		}
		if err != nil {
			return nil, brokenJSON(at.String(), err)
		}
		fields, ok := v.(map[string]any)
		if !ok {
			return nil, fault.Newf(fault.Usage, "reading %s: %s where a row should be", at, describe(plain(v)))
		}
		rows = append(rows, row{at, plain(fields).(map[string]any)})
	}
	return rows, nil
}

func twoRows(at string) error {
	return fault.Newf(fault.Usage, "reading %s: two rows on one line", at).
		WithHint("write each row on a line of its own")
}

func brokenJSON(at string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it ends in the middle")
	}
	return fault.New(fault.Usage, "reading "+at, fmt.Errorf("broken JSON: %w", err)).
		WithHint("names and texts stand in double quotes, with no comma before } or ]; a file that was cut short has to be copied again")
}

// plain turns decoded JSON into the types of Instance.Fields, in place. Whole
// numbers beyond 64 bits become float64.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64() // an overflow becomes infinite, as in Python
		return f
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plain(v[k])
		}
	}
	return v
}

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
