package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// table says what the requests of a protocol may not have: what would outlive the call, reach the account, ask
// another model, or reach the network from the provider. Names of members count in any case, and with or
// without underscores, as some servers read them.
type table struct {
	out     []string // members that are taken out
	refused []string // members without which the request would mean something else
	answers []string // the path of the number of answers, which may not be above 1
	choice  []string // members about the choice of a tool
	body    []string // members that hold the conversation
	inner   []string // members in the conversation that hold parts of it

	// These are for requests without hosted tools.
	hostedOut []string               // further members that are taken out
	hosted    func(tool fields) bool // the tool runs at the provider
	members   []string               // members of a tool that each are a tool which runs at the provider
	fetched   func(part fields) bool // the provider would have to fetch the part
	text      string                 // the part in its place
	reference string                 // the type of parts that refer to the account and have no replacement
}

// named reports whether a member has one of these names.
func named(key gjson.Result, names ...string) bool {
	plain := strings.ReplaceAll(key.Str, "_", "")
	return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(plain, strings.ReplaceAll(name, "_", "")) })
}

// twice returns the name of a member that a request has twice, in any spelling; empty if there is none. Batch
// would judge one of them, and the provider might take the other.
func twice(body []byte) string {
	seen := map[string]bool{}
	for _, f := range fieldsOf(gjson.ParseBytes(body)) {
		plain := strings.ToLower(strings.ToUpper(strings.ReplaceAll(f[0].Str, "_", ""))) // as EqualFold compares
		if seen[plain] {
			return f[0].Str
		}
		seen[plain] = true
	}
	return ""
}

// fields are the members of an object, in order: each is read once, since conversations are long.
type fields [][2]gjson.Result

// fieldsOf returns the members of an object; nil for any other value.
func fieldsOf(v gjson.Result) (list fields) {
	if v.IsObject() {
		v.ForEach(func(key, value gjson.Result) bool {
			list = append(list, [2]gjson.Result{key, value})
			return true
		})
	}
	return list
}

// has reports whether there is a member at a path of names for which is true. Of duplicate members, one is
// enough: servers differ in which of them counts.
func (list fields) has(is func(gjson.Result) bool, path ...string) bool {
	return slices.ContainsFunc(list, func(f [2]gjson.Result) bool {
		switch {
		case !named(f[0], path[0]):
			return false
		case len(path) == 1:
			return is(f[1])
		}
		return fieldsOf(f[1]).has(is, path[1:]...)
	})
}

// begins returns a function that reports whether a value is a text with one of these beginnings.
func begins(with ...string) func(gjson.Result) bool {
	return func(v gjson.Result) bool {
		text := strings.ToLower(v.String())
		return slices.ContainsFunc(with, func(start string) bool { return strings.HasPrefix(text, start) })
	}
}

// address reports whether a value is a text other than the data itself.
func address(v gjson.Result) bool {
	return v.Type == gjson.String && v.Str != "" && !strings.HasPrefix(strings.ToLower(v.Str), "data:")
}

// anything is true for all values but null and the empty text.
func anything(v gjson.Result) bool { return v.Type != gjson.Null && v.String() != "" }

// edition is a request that is being edited.
type edition struct {
	table
	hostedToo bool
	removed   []string
	err       error
	tools     int // that are left
	gone      int // that are not
	depth     int // of the part or the list of tools that is being edited
}

// deepest is how deep parts and tools are in each other at most: each level is read again for those around it.
const deepest = 16

// deeper enters a level and reports whether it is too deep, which is refused. Its end is e.depth--.
func (e *edition) deeper() (tooDeep bool) {
	e.depth++
	if e.depth > deepest && e.err == nil {
		e.err = fmt.Errorf("parts or tools are more than %d levels deep in each other", deepest)
	}
	return e.depth > deepest
}

// edit returns a request in which the members of set have their values, without what the table does not
// allow, and the names of what was taken out. Its error says what a request may not have.
func (t table) edit(body []byte, set map[string]string, hosted bool) (edited []byte, removed []string, err error) {
	request := gjson.ParseBytes(body)
	if !request.IsObject() {
		return nil, nil, errors.New("expected a JSON object")
	}
	members := fieldsOf(request)
	e := &edition{table: t, hostedToo: hosted}
	var tools []string // the members of this name, edited: what may be chosen depends on them
	for _, f := range members {
		if named(f[0], "tools") && f[1].IsArray() {
			text, _ := e.toolList(f[1])
			tools = append(tools, text)
		}
	}
	out, missing := make(object, 0, len(body)+1<<10), maps.Clone(set)
	for _, f := range members {
		key, value := f[0], f[1]
		if name, value, ok := given(set, key); ok {
			out.add(encodeName(name), value)
			delete(missing, name)
			continue
		}
		switch {
		case named(key, t.out...), !hosted && named(key, t.hostedOut...):
			e.removed = append(e.removed, key.Str)
		case named(key, t.refused...):
			if anything(value) {
				e.refuse(key.Str)
			}
		case named(key, t.choice...) && !e.mayChoose(value):
		case named(key, "tools") && value.IsArray():
			if tools[0] != "[]" || value.Raw == "[]" {
				out.add(key.Raw, tools[0])
			}
			tools = tools[1:]
		case !hosted && named(key, t.body...):
			text, _ := e.part(value)
			out.add(key.Raw, text)
		default:
			out.add(key.Raw, value.Raw)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		out.add(encodeName(name), missing[name])
	}
	if t.answers != nil && members.has(func(v gjson.Result) bool { return v.Float() > 1 }, t.answers...) {
		e.refuse(strings.Join(t.answers, ".") + " above 1")
	}
	return out.bytes(), e.removed, e.err
}

// limited returns an object with a number at a path, in place of what its members of that name have.
func limited(v gjson.Result, most int64, path ...string) []byte {
	out, found := object{}, false
	v.ForEach(func(key, value gjson.Result) bool {
		switch {
		case !named(key, path[0]):
			out.add(key.Raw, value.Raw)
			return true
		case len(path) > 1:
			out.add(key.Raw, string(limited(value, most, path[1:]...)))
		default:
			out.add(key.Raw, strconv.FormatInt(most, 10))
		}
		found = true
		return true
	})
	switch {
	case !found && len(path) > 1:
		out.add(encodeName(path[0]), string(limited(gjson.Result{}, most, path[1:]...)))
	case !found:
		out.add(encodeName(path[0]), strconv.FormatInt(most, 10))
	}
	return out.bytes()
}

// given returns the member of set with the name of a key.
func given(set map[string]string, key gjson.Result) (name, value string, ok bool) {
	for name, value := range set {
		if named(key, name) {
			return name, value, true
		}
	}
	return "", "", false
}

func (e *edition) refuse(what string) {
	if e.err == nil {
		e.err = fmt.Errorf("%s is not passed on: it reaches beyond the call", what)
	}
}

// mayChoose reports whether the choice of a tool stays: it must not name one that was taken out.
func (e *edition) mayChoose(choice gjson.Result) bool {
	names := func(kind gjson.Result) bool {
		return !slices.Contains([]string{"auto", "any", "none", "required"}, kind.Str)
	}
	return e.gone == 0 || e.tools > 0 && !fieldsOf(choice).has(names, "type")
}

// toolList returns the tools that are left of a list.
func (e *edition) toolList(list gjson.Result) (text string, changed bool) {
	defer func() { e.depth-- }()
	if e.deeper() {
		return list.Raw, false
	}
	var left []string
	list.ForEach(func(_, tool gjson.Result) bool {
		text, other := e.tool(tool)
		changed = changed || other
		if text == "" {
			e.gone++
			return true
		}
		left = append(left, text)
		e.tools++
		return true
	})
	if !changed {
		return list.Raw, false
	}
	return "[" + strings.Join(left, ",") + "]", true
}

// tool returns what is left of a tool, which may hold further tools; empty if nothing is.
func (e *edition) tool(tool gjson.Result) (text string, changed bool) {
	members := fieldsOf(tool)
	if !e.hostedToo && e.hosted != nil && e.hosted(members) {
		e.removed = append(e.removed, "tool "+tool.Get("type").String())
		return "", true
	}
	text, changed = edited(tool, members, func(key, value gjson.Result) (string, bool) {
		switch {
		case !e.hostedToo && named(key, e.members...):
			e.removed = append(e.removed, "tool "+key.Str)
			return "", true
		case named(key, "tools") && value.IsArray():
			return e.toolList(value)
		}
		return value.Raw, false
	})
	if text == "{}" && changed {
		return "", true
	}
	return text, changed
}

// part returns a part of the conversation with a text in place of each part that the provider would fetch, and
// without tools that run there.
func (e *edition) part(v gjson.Result) (text string, changed bool) {
	defer func() { e.depth-- }()
	if e.deeper() {
		return v.Raw, false
	}
	if v.IsArray() {
		var list []string
		v.ForEach(func(_, item gjson.Result) bool {
			text, other := e.part(item)
			list, changed = append(list, text), changed || other
			return true
		})
		if changed {
			return "[" + strings.Join(list, ",") + "]", true
		}
		return v.Raw, false
	}
	members := fieldsOf(v)
	switch {
	case e.fetched(members):
		e.removed = append(e.removed, "what the provider would have to fetch")
		return e.text, true
	case e.reference != "" && members.has(begins(e.reference), "type"):
		e.refuse(e.reference)
	}
	return edited(v, members, func(key, value gjson.Result) (string, bool) {
		switch {
		case named(key, e.inner...):
			return e.part(value)
		case named(key, "tools") && value.IsArray():
			return e.toolList(value)
		}
		return value.Raw, false
	})
}

// edited returns an object with the values that edit returns, and whether one has changed. A member without a
// value is left out. Any other value is returned as it is.
func edited(v gjson.Result, members fields, edit func(key, value gjson.Result) (string, bool)) (text string, changed bool) {
	var list [][2]string
	for _, f := range members {
		text, other := edit(f[0], f[1])
		changed = changed || other
		if text != "" {
			list = append(list, [2]string{f[0].Raw, text})
		}
	}
	if !changed {
		return v.Raw, false
	}
	out := object{}
	for _, member := range list {
		out.add(member[0], member[1])
	}
	return string(out.bytes()), true
}

// object is a JSON object that is being written: its members, without the braces.
type object []byte

// add adds a member; both are JSON.
func (o *object) add(key, value string) {
	if len(*o) > 0 {
		*o = append(*o, ',')
	}
	*o = append(append(append(*o, key...), ':'), value...)
}

func (o object) bytes() []byte { return append(append([]byte{'{'}, o...), '}') }

func encodeName(name string) string { return string(encode(name)) }

func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts and numbers alone
	}
	return text
}
