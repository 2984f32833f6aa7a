package dataset

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"batch.example/batch/fault"
)

// In an instance's wire form, what JSON cannot hold stands in an object of one key
// that begins so. An object of a row that looks like one is written as pairs.
const (
	wireBytes = "$bytes" // base64 of a string that is not UTF-8
	wireFloat = "$float" // a number that JSON has no digits for
	wirePairs = "$pairs" // [key, value] of an object whose keys JSON cannot hold
)

// MarshalJSON returns the wire form: the row's columns as a JSON object that holds
// each value exactly, also bytes that are not UTF-8. A row as another tool would
// write it keeps its form. An instance that was not read from a row has none.
func (in Instance) MarshalJSON() ([]byte, error) {
	if id, _ := in.Fields["instance_id"].(string); id == "" || id != in.ID {
		return nil, fault.Newf(fault.Bug, "writing instance %s: it was not read from a row", in.ID)
	}
	return json.Marshal(toWire(in.Fields)) // maps in the order of their keys
}

// Row returns the row's columns for an encoder of JSON, in the wire form, which a JSON file
// of rows may have too.
func (in Instance) Row() any { return toWire(in.Fields) }

// written reads the wire form in a row of a file, whose other objects may have any keys.
func written(v any) (_ any, err error) {
	switch v := v.(type) {
	case []any:
		for i := range v {
			if v[i], err = written(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key := range v {
			if v[key], err = written(v[key]); err != nil {
				return nil, err
			}
			if len(v) == 1 && slices.Contains([]string{wireBytes, wireFloat, wirePairs}, key) {
				return unwrap(key, v[key])
			}
		}
	}
	return v, nil
}

// UnmarshalJSON reads the wire form. Errors are Usage faults.
func (in *Instance) UnmarshalJSON(data []byte) error {
	const name = "an instance"
	if err := checkText(name, data); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return brokenJSON(name, err)
	}
	v, err := fromWire(v)
	if err != nil {
		return brokenJSON(name, err)
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return fault.Newf(fault.Usage, "reading %s: %s where a row should be", name, describe(v))
	}
	*in, err = row{place{name, "row", 1}, fields}.instance()
	return err
}

// toWire returns what json.Marshal makes the wire form of v from.
func toWire(v any) any {
	switch v := v.(type) {
	case string:
		if !utf8.ValidString(v) {
			return map[string]string{wireBytes: base64.StdEncoding.EncodeToString([]byte(v))}
		}
	case float64:
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			return map[string]string{wireFloat: strconv.FormatFloat(v, 'g', -1, 64)}
		case v == math.Trunc(v) && v >= math.MinInt64 && v < math.MaxInt64: // else it would be read as an int64
			return json.Number(strconv.FormatFloat(v, 'f', 1, 64))
		}
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = toWire(v[i])
		}
		return out
	case map[string]any:
		return mapToWire(v)
	}
	return v
}

func mapToWire(m map[string]any) any {
	if m == nil {
		return nil
	}
	out, plain := make(map[string]any, len(m)), true
	for key, v := range m {
		out[key] = toWire(v)
		plain = plain && utf8.ValidString(key) && !(len(m) == 1 && key != "" && key[0] == '$')
	}
	if plain {
		return out
	}
	pairs := []any{}
	for _, key := range slices.Sorted(maps.Keys(out)) {
		pairs = append(pairs, []any{toWire(key), out[key]})
	}
	return map[string]any{wirePairs: pairs}
}

// fromWire turns decoded JSON into the types of Instance.Fields.
func fromWire(v any) (_ any, err error) {
	switch v := v.(type) {
	case []any:
		for i := range v {
			if v[i], err = fromWire(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key := range v {
			if v[key], err = fromWire(v[key]); err != nil {
				return nil, err
			}
			if len(v) == 1 && key != "" && key[0] == '$' {
				return unwrap(key, v[key])
			}
		}
	default:
		return plain(v), nil
	}
	return v, nil
}

// unwrap returns what an object of the one key holds.
func unwrap(key string, v any) (any, error) {
	text, isText := v.(string)
	pairs, isList := v.([]any)
	switch {
	case key == wireBytes && isText:
		data, err := base64.StdEncoding.DecodeString(text)
		return string(data), err
	case key == wireFloat && isText:
		return strconv.ParseFloat(text, 64)
	case key == wirePairs && isList:
		m := make(map[string]any, len(pairs))
		for _, p := range pairs {
			pair, _ := p.([]any)
			if len(pair) != 2 {
				return nil, fmt.Errorf("%s holds %v", key, p)
			}
			name, ok := pair[0].(string)
			if !ok {
				return nil, fmt.Errorf("%s holds %v", key, p)
			}
			m[name] = pair[1]
		}
		return m, nil
	}
	return nil, fmt.Errorf("%s holds %s", key, describe(v))
}
