package template

import (
	"slices"
)

// Dict is a dict of Python: its members have an order.
type Dict struct {
	keys, values []any
	index        map[any]int // of many members
}

// NewDict returns a Dict with keys and values, in turn.
func NewDict(members ...any) *Dict {
	d := &Dict{}
	for i := 0; i+1 < len(members); i += 2 {
		d.set(members[i], fromGo(members[i+1]))
	}
	return d
}

// fewMembers are found without an index.
const fewMembers = 8

// hashed is the form in which keys are compared: 1, 1.0 and True are the same.
func hashed(key any) any {
	switch k := key.(type) {
	case bool:
		return asInt(k)
	case safe:
		return string(k)
	case float64:
		if n := int(k); float64(n) == k {
			return n
		}
	case *tuple:
		text := "\x00"
		for _, v := range k.items {
			text += repr(hashed(v)) + ","
		}
		return text
	case *list, *Dict, *view, *window:
		failf("%s cannot be a key", kind(key))
	case *undefined:
		k.use()
	}
	return key
}

func (d *Dict) find(key any) int {
	h := hashed(key)
	if d.index != nil {
		if i, ok := d.index[h]; ok {
			return i
		}
		return -1
	}
	return slices.IndexFunc(d.keys, func(k any) bool { return hashed(k) == h })
}

func (d *Dict) get(key any) (any, bool) {
	if i := d.find(key); i >= 0 {
		return d.values[i], true
	}
	return nil, false
}

func (d *Dict) set(key, value any) {
	if i := d.find(key); i >= 0 {
		d.values[i] = value
		return
	}
	d.keys, d.values = append(d.keys, key), append(d.values, value)
	switch {
	case d.index != nil:
		d.index[hashed(key)] = len(d.keys) - 1
	case len(d.keys) > fewMembers:
		d.reindex()
	}
}

func (d *Dict) reindex() {
	d.index = make(map[any]int, 2*len(d.keys))
	for i, k := range d.keys {
		d.index[hashed(k)] = i
	}
}

func (d *Dict) remove(i int) {
	d.keys, d.values = slices.Delete(d.keys, i, i+1), slices.Delete(d.values, i, i+1)
	d.reindex()
}

func (d *Dict) items() []any {
	pairs := make([]any, len(d.keys))
	for i, k := range d.keys {
		pairs[i] = &tuple{items: []any{k, d.values[i]}}
	}
	return pairs
}

func (d *Dict) clone() *Dict {
	c := &Dict{keys: slices.Clone(d.keys), values: slices.Clone(d.values)}
	if d.index != nil {
		c.reindex()
	}
	return c
}

func (v *view) items() []any {
	switch v.what {
	case "keys":
		return slices.Clone(v.of.keys)
	case "values":
		return slices.Clone(v.of.values)
	}
	return v.of.items()
}
