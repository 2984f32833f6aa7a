package results

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"batch.example/batch/internal/python"
)

// compactJSON marshals v on one line without escaping <, > and &. The result
// is valid UTF-8, raw members that were not included.
func compactJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	out := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if !utf8.Valid(out) {
		out = bytes.ToValidUTF8(out, []byte("\ufffd"))
	}
	return out, nil
}

// pythonJSON formats v byte for byte as Python's json.dumps(v, indent=2) does
// for the same members: two spaces per level, DEL and every character beyond
// ASCII as \uXXXX, no final newline. Lines after the first begin with prefix.
func pythonJSON(v any, prefix string) ([]byte, error) {
	text, err := compactJSON(v)
	if err != nil {
		return nil, err
	}
	return python.Indent(text, prefix)
}

// indentJSON indents text for people and ends it with a newline.
func indentJSON(text []byte) ([]byte, error) {
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}
