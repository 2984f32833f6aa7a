package swebench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"

	"batch.example/batch/fault"
	"batch.example/batch/internal/regular"
)

// readJSON reads the JSON file at path into v. An error is a Usage fault that names the file and,
// if one member is wrong, the member.
func readJSON(path string, v any) error {
	text, err := regular.ReadFile(path)
	if err != nil {
		return reading(err)
	}
	return decode(path, "", text, v)
}

// decode reads text into v. text is a member of the file at path; an empty member stands for the
// whole file.
func decode(path, member string, text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	err := d.Decode(v)
	if err == nil {
		end := d.InputOffset()
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = fmt.Errorf("something follows the JSON value that ends at byte %d", end)
		}
	}
	if err == nil {
		return nil
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		member = joined(member, wrong.Field)
		err = fmt.Errorf("expected %s, found %s", cmp.Or(kinds[wrong.Type.Kind()], "an object"), wrong.Value)
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		err = fmt.Errorf("byte %d: %w", syntax.Offset, syntax)
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return malformed(path, member, err)
}

// reading is the Usage fault for a file that cannot be opened.
func reading(err error) error { return fault.New(fault.Usage, "reading scores", err) }

// malformed is the Usage fault for a wrong member of a file.
func malformed(path, member string, err error) error {
	if member != "" {
		err = fmt.Errorf("member %q: %w", member, err)
	}
	return fault.New(fault.Usage, "reading "+path, err)
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "." + b
}

// kinds describes the JSON value that a Go kind needs. Kinds that are not listed need an object.
var kinds = map[reflect.Kind]string{
	reflect.Bool: "true or false", reflect.String: "a text", reflect.Slice: "a list", reflect.Int: "a whole number", reflect.Float64: "a number",
}
