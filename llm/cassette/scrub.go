package cassette

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"batch.example/batch/internal/mask"
	"batch.example/batch/llm/internal/history"
)

// scrub hides the secrets of an answer. In JSON, as in a stream's events, it searches only strings, because a
// pattern may also match quotes.
func scrub(answer []byte, hide *mask.Masker) []byte {
	if json.Valid(answer) {
		return hide.JSON(answer)
	}
	var pieces [][]byte
	var events []int // which of pieces are events
	var plain []byte
	for line := range bytes.Lines(answer) {
		data, isData := bytes.CutPrefix(line, []byte("data:"))
		if isData && hide != nil && !bytes.HasSuffix(line, []byte("\n")) && !json.Valid(data) && len(events) > 0 {
			continue // a secret may end in a truncated event
		}
		if !isData || !json.Valid(data) {
			plain = append(plain, line...)
			continue
		}
		pieces = append(pieces, hide.Bytes(plain), slices.Concat([]byte("data:"), hide.JSON(data)))
		events, plain = append(events, len(pieces)-1), nil
	}
	pieces = append(pieces, hide.Bytes(plain))
	for _, indexed := range []bool{true, false} { // some providers give an index to the first piece only
		scrubAcross(pieces, events, hide, indexed)
	}
	return bytes.Join(pieces, nil)
}

// scrubAcross hides secrets that a model writes across several events: the first of them then contains the
// whole text. If indexed is set, indexes tell texts apart too.
func scrubAcross(pieces [][]byte, events []int, hide *mask.Masker, indexed bool) {
	texts := map[string]*strings.Builder{} // by their place in an event
	for _, i := range events {
		eachText(decoded(pieces[i]), "", indexed, func(place, text string) string {
			if texts[place] == nil {
				texts[place] = &strings.Builder{}
			}
			texts[place].WriteString(text)
			return text
		})
	}
	maps.DeleteFunc(texts, func(_ string, all *strings.Builder) bool { return len(hide.Names([]byte(all.String()))) == 0 })
	if len(texts) == 0 {
		return
	}
	for _, i := range events {
		event := eachText(decoded(pieces[i]), "", indexed, func(place, text string) string {
			all := texts[place]
			if all == nil {
				return text
			}
			hidden := hide.Text(all.String())
			all.Reset()
			return hidden
		})
		if line, err := history.Encode(event); err == nil {
			pieces[i] = slices.Concat([]byte("data: "), line, []byte("\n"))
		}
	}
}

// decoded returns the JSON value of an event.
func decoded(event []byte) (value any) {
	d := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(event, []byte("data:"))))
	d.UseNumber()
	_ = d.Decode(&value) // the event is valid
	return value
}

// eachText replaces the strings in a value, and returns it. Pieces of one text have the same place: the same
// member of objects, with the same indexes if indexed is set.
func eachText(value any, place string, indexed bool, replace func(place, text string) string) any {
	switch v := value.(type) {
	case string:
		return replace(place, v)
	case []any:
		for i := range v {
			v[i] = eachText(v[i], place+"/", indexed, replace)
		}
	case map[string]any:
		for _, name := range []string{"index", "output_index", "content_index", "summary_index", "thought"} {
			if indexed {
				place += fmt.Sprint(" ", v[name])
			}
		}
		for name, member := range v {
			v[name] = eachText(member, place+"."+name, indexed, replace)
		}
	}
	return value
}
