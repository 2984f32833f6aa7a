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

// In an instance's wire form, a value that JSON cannot hold is an object with one of these keys. An
// object of a row that looks like one is written as pairs.
const (
	wireBytes = "$bytes" // base64 of a string that is not UTF-8
	wireFloat = "$float" // a number that JSON cannot represent
	wirePairs = "$pairs" // [key, value] pairs of an object with keys that JSON cannot hold
)

// MarshalJSON returns the wire form: a JSON object of the row's columns that holds each value
// exactly, including bytes that are not UTF-8. Ordinary values look as other tools write them. An
// instance that was not read from a row has no wire form.
func (in Instance) MarshalJSON() ([]byte, error) {
	if id, _ := in.Fields["instance_id"].(string); id == "" || id != in.ID {
		return nil, fault.Newf(fault.Bug, "writing instance %s: it was not read from a row", in.ID)
	}
	return json.Marshal(toWire(in.Fields)) // maps are sorted by key
}

// Row returns the row's columns for a JSON encoder, in the wire form. Readers accept it in JSON
// files of rows too.
func (in Instance) Row() any { return toWire(in.Fields) }

// written decodes the wire form in a row of a file. Other objects may have any keys.
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

// toWire returns a value that json.Marshal encodes as the wire form of v.
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
		case v == math.Trunc(v) && v >= math.MinInt64 && v < math.MaxInt64: // it would otherwise be read as an int64
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

// unwrap decodes the value under one of the keys.
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
