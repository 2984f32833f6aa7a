package dataset

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"batch.example/batch/fault"
)

// ReadIDs reads instance ids from r: one a line, where "#" at the start of a
// line or behind a blank begins a comment, or a JSON list of texts. name is
// used in errors. A file without ids is a Usage fault.
func ReadIDs(r io.Reader, name string) ([]string, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fault.New(fault.Usage, "reading "+name, plainCause(err))
	}
	data = bytes.TrimPrefix(data, []byte(byteOrder))
	var ids []string
	if text := bytes.TrimSpace(data); len(text) > 0 && text[0] == '[' {
		ids, err = idList(name, text)
	} else {
		ids, err = idLines(name, string(data))
	}
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, fault.Newf(fault.Usage, "reading %s: no instance ids in it", name).
			WithHint("write one id a line, or a JSON list of ids")
	}
	return ids, nil
}

func idList(name string, text []byte) ([]string, error) {
	var ids []string
	if err := json.Unmarshal(text, &ids); err != nil {
		return nil, fault.New(fault.Usage, "reading "+name+" as a JSON list of ids", err)
	}
	return ids, nil
}

func idLines(name, text string) ([]string, error) {
	var ids []string
	n := 0
	for line := range strings.Lines(text) {
		n++
		words := strings.Fields(line)
		for i, w := range words {
			if strings.HasPrefix(w, "#") {
				words = words[:i]
				break
			}
		}
		switch len(words) {
		case 0:
		case 1:
			ids = append(ids, words[0])
		default:
			return nil, fault.Newf(fault.Usage, "reading %s line %d: %d words where one id should be", name, n, len(words)).
				WithHint("write one id a line; a comment begins with #")
		}
	}
	return ids, nil
}
