package family

import (
	"encoding/json"
	"fmt"

	"batch.example/batch/dataset"
	"batch.example/batch/internal/python"
)

// row reads columns that package dataset keeps without knowing them.
type row struct {
	in      dataset.Instance
	options Options
}

func (r row) has(columns ...string) bool {
	for _, c := range columns {
		if v, ok := r.in.Fields[c]; !ok || v == nil {
			return false
		}
	}
	return true
}

// text returns a column of text, or "".
func (r row) text(column string) string {
	s, _ := r.in.Fields[column].(string)
	return s
}

// list returns a column that is a list of texts, or a text with such a list in JSON's or Python's
// form. The texts are never trimmed.
func (r row) list(column string) ([]string, error) {
	list, err := listOf(r.in.Fields[column])
	if err != nil {
		return nil, r.fault("column %s: %w", column, err)
	}
	return list, nil
}

// object returns a column that is an object, or a text with an object in JSON, or nil.
func (r row) object(column string) map[string]any {
	m, ok := r.in.Fields[column].(map[string]any)
	if text := r.text(column); !ok && text != "" && json.Unmarshal([]byte(text), &m) != nil {
		return nil
	}
	return m
}

func listOf(v any) ([]string, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case string:
		return python.List(v)
	case []any:
		return textsOf(v)
	default:
		return nil, fmt.Errorf("%T where a list should be", v)
	}
}

// commandsOf is listOf, but a text is one command.
func commandsOf(v any) ([]string, error) {
	if s, ok := v.(string); ok {
		if s == "" {
			return nil, nil
		}
		return []string{s}, nil
	}
	return listOf(v)
}

func textsOf(list []any) ([]string, error) {
	out := make([]string, len(list))
	for i, v := range list {
		s, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("element %d is not text", i+1)
		}
		out[i] = s
	}
	return out, nil
}
