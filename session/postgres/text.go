package postgres

import (
	"fmt"
	"strconv"
	"strings"

	"batch.example/batch/fault"
)

// stored returns s in a form that a text in the database can have, from which [loaded] gets
// it back.
func stored(s string) string {
	if strings.HasPrefix(s, `"`) || strings.ContainsRune(s, 0) || strings.ToValidUTF8(s, "") != s {
		return strconv.Quote(s)
	}
	return s
}

func loaded(s string) (string, error) {
	if !strings.HasPrefix(s, `"`) {
		return s, nil
	}
	text, err := strconv.Unquote(s)
	if err != nil {
		return "", fault.Newf(fault.Instance, "the text %.100q in the database: %w", s, err)
	}
	return text, nil
}

// shown is s for people, without what a text in the database cannot have.
func shown(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}

// storedMap is stored for the keys and the values of a map.
func storedMap(m map[string]string) map[string]string {
	to := make(map[string]string, len(m))
	for k, v := range m {
		to[stored(k)] = stored(v)
	}
	return to
}

func loadedMap(m map[string]string) (map[string]string, error) {
	if len(m) == 0 {
		return nil, nil
	}
	to := make(map[string]string, len(m))
	for k, v := range m {
		key, err := loaded(k)
		if err != nil {
			return nil, err
		}
		if to[key], err = loaded(v); err != nil {
			return nil, fmt.Errorf("metadata %q: %w", key, err)
		}
	}
	return to, nil
}
