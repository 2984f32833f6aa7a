package endpoint

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Keywords says how a protocol takes model_kwargs: LiteLLM's keywords, mostly OpenAI's, and members of the
// protocol itself. A null is left out.
type Keywords struct {
	// Rows translate keywords, in this order, after Same. No row replaces a member that is already set.
	Rows []Keyword

	Same []string // members of the protocol, sent unchanged
	Open bool     // any other name is sent unchanged; otherwise it is refused
}

// Keyword is one row: how the value of a keyword is written into the members of a request. Take must not
// change the value, and its errors must not contain it.
type Keyword struct {
	Names string // synonyms, separated by spaces; the first one given counts
	Take  func(members map[string]any, value any) error
}

// errNotTaken is the result of a row for a value that has no counterpart in the protocol.
var errNotTaken = errors.New("the provider does not take it")

// Refuse is a row's Take for a keyword or value that the provider does not take.
func Refuse(map[string]any, any) error { return errNotTaken }

// Ignore is a row's Take for a keyword without a meaning for the provider.
func Ignore(map[string]any, any) error { return nil }

// As returns a row's Take that sends the value under another name, see [Fill].
func As(path ...string) func(map[string]any, any) error {
	return func(members map[string]any, value any) error { return Fill(members, value, path...) }
}

// Fill sets the member at a path of names, unless it is set. Objects on the path are made or
// copied.
func Fill(members map[string]any, value any, path ...string) error {
	last := len(path) - 1
	for _, name := range path[:last] {
		object, ok := members[name].(map[string]any)
		if members[name] != nil && !ok {
			return fmt.Errorf("%s: expected an object", name)
		}
		if object = maps.Clone(object); object == nil {
			object = map[string]any{}
		}
		members[name] = object
		members = object
	}
	if _, set := members[path[last]]; !set {
		members[path[last]] = value
	}
	return nil
}

// Translate is a [Protocol]'s Translate.
func (k Keywords) Translate(members map[string]any) (refused []string, err error) {
	given := maps.Clone(members)
	maps.DeleteFunc(given, func(_ string, value any) bool { return value == nil })
	clear(members)
	for _, name := range k.Same {
		if value, ok := given[name]; ok {
			members[name] = value
			delete(given, name)
		}
	}
	for _, row := range k.Rows {
		for name := range strings.FieldsSeq(row.Names) {
			value, ok := given[name]
			if !ok {
				continue
			}
			delete(given, name)
			switch err := row.Take(members, value); {
			case errors.Is(err, errNotTaken):
				refused = append(refused, name)
			case err != nil:
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	if k.Open {
		maps.Copy(members, given)
		return refused, nil
	}
	return slices.AppendSeq(refused, maps.Keys(given)), nil
}
