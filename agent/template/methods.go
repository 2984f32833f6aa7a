package template

import (
	"math"
	"slices"
	"sync"

	"batch.example/batch/internal/python"
)

var bytesMethods = sync.OnceValue(func() map[string]*builtin {
	return map[string]*builtin{
		"decode": def("self encoding='utf-8' errors='strict'", func(_ *renderer, a []any) any {
			s, _ := a[0].(octets)
			return python.Decode([]byte(s))
		}),
	}
})

var intMethods = sync.OnceValue(func() map[string]*builtin {
	return map[string]*builtin{
		"bit_length": def("/ self", func(_ *renderer, a []any) any {
			n := 0
			for v := wholeNumber(a[0]); v != 0; v /= 2 {
				n++
			}
			return n
		}),
	}
})

var floatMethods = sync.OnceValue(func() map[string]*builtin {
	return map[string]*builtin{
		"is_integer": def("/ self", func(_ *renderer, a []any) any {
			f, _ := a[0].(float64)
			return f == math.Trunc(f) && !math.IsInf(f, 0)
		}),
	}
})

func indexOf(a []any) any {
	items, _ := sequence(a[0])
	bound := func(v any) int {
		n := wholeNumber(v)
		if n < 0 {
			n += len(items)
		}
		return min(max(n, 0), len(items))
	}
	for i := bound(a[2]); i < bound(a[3]); i++ {
		if same(items[i], a[1]) {
			return i
		}
	}
	failf("the value is not in the list")
	return nil
}

func countOf(_ *renderer, a []any) any {
	items, _ := sequence(a[0])
	n := 0
	for _, v := range items {
		n += asInt(same(v, a[1]))
	}
	return n
}

var tupleMethods = sync.OnceValue(func() map[string]*builtin {
	return map[string]*builtin{
		"count": def("/ self value", countOf),
		"index": def("/ self value start=0 stop=9223372036854775807", func(_ *renderer, a []any) any { return indexOf(a) }),
	}
})

// listMethod is a method of a list that changes it.
func listMethod(signature string, f func(l *list, a []any) any) *builtin {
	return def("/ self "+signature, func(_ *renderer, a []any) any {
		l, _ := a[0].(*list)
		v := f(l, a)
		boundedItems(len(l.items))
		return v
	})
}

var listMethods = sync.OnceValue(func() map[string]*builtin {
	return map[string]*builtin{
		"count":  tupleMethods()["count"],
		"index":  tupleMethods()["index"],
		"append": listMethod("value", func(l *list, a []any) any { l.items = append(l.items, a[1]); return nil }),
		"clear":  listMethod("", func(l *list, _ []any) any { l.items = nil; return nil }),
		"copy":   listMethod("", func(l *list, _ []any) any { return &list{items: slices.Clone(l.items)} }),
		"extend": listMethod("values", func(l *list, a []any) any { l.items = append(l.items, iterate(a[1])...); return nil }),
		"insert": listMethod("index value", func(l *list, a []any) any {
			n := wholeNumber(a[1])
			if n < 0 {
				n += len(l.items)
			}
			l.items = slices.Insert(l.items, min(max(n, 0), len(l.items)), a[2])
			return nil
		}),
		"pop": listMethod("index=-1", func(l *list, a []any) any {
			n := wholeNumber(a[1])
			v, ok := nth(l, n)
			if !ok {
				failf("the list has no item %d", n)
			}
			if n < 0 {
				n += len(l.items)
			}
			l.items = slices.Delete(slices.Clone(l.items), n, n+1)
			return v
		}),
		"remove": listMethod("value", func(l *list, a []any) any {
			i, _ := indexOf([]any{l, a[1], 0, len(l.items)}).(int)
			l.items = slices.Delete(slices.Clone(l.items), i, i+1)
			return nil
		}),
		"reverse": listMethod("", func(l *list, _ []any) any { l.items = slices.Clone(l.items); slices.Reverse(l.items); return nil }),
		"sort": def("self reverse=False", func(_ *renderer, a []any) any {
			l, _ := a[0].(*list)
			l.items = sortedValues(l.items, func(v any) any { return v }, truth(a[1]))
			return nil
		}),
	}
})

func dictMethod(signature string, f func(d *Dict, a []any) any) *builtin {
	return def("/ self "+signature, func(_ *renderer, a []any) any { return f(dictArg(a[0]), a) })
}

var dictMethods = sync.OnceValue(func() map[string]*builtin {
	views := func(what string) *builtin {
		return dictMethod("", func(d *Dict, _ []any) any { return &view{d, what} })
	}
	return map[string]*builtin{
		"keys": views("keys"), "values": views("values"), "items": views("items"),
		"clear": dictMethod("", func(d *Dict, _ []any) any { *d = Dict{}; return nil }),
		"copy":  dictMethod("", func(d *Dict, _ []any) any { return d.clone() }),
		"get": dictMethod("key default=None", func(d *Dict, a []any) any {
			if v, ok := d.get(a[1]); ok {
				return v
			}
			return a[2]
		}),
		"pop": dictMethod("key *", func(d *Dict, a []any) any {
			rest, _ := a[2].([]any)
			v, ok := d.get(a[1])
			switch {
			case ok:
				d.remove(d.find(a[1]))
				return v
			case len(rest) == 1:
				return rest[0]
			}
			failf("the dict has no %s", repr(a[1]))
			return nil
		}),
		"popitem": dictMethod("", func(d *Dict, _ []any) any {
			if len(d.keys) == 0 {
				failf("the dict is empty")
			}
			last := len(d.keys) - 1
			pair := &tuple{items: []any{d.keys[last], d.values[last]}}
			d.remove(last)
			return pair
		}),
		"setdefault": dictMethod("key default=None", func(d *Dict, a []any) any {
			if v, ok := d.get(a[1]); ok {
				return v
			}
			d.set(a[1], a[2])
			return a[2]
		}),
		"update": def("/ self *", func(_ *renderer, a []any) any {
			list, named := others(a)
			dictArg(a[0]).update(list, named)
			return nil
		}),
	}
})

// update adds the members of a dict or of pairs, and those with names.
func (d *Dict) update(list []any, named *Dict) {
	if len(list) > 1 {
		failf("expected at most 1 argument, found %d", len(list))
	}
	for _, v := range list {
		if from, ok := v.(*Dict); ok {
			v = &view{from, "items"}
		}
		for _, pair := range iterate(v) {
			parts := iterate(pair)
			if len(parts) != 2 {
				failf("expected pairs of a key and a value")
			}
			d.set(parts[0], parts[1])
		}
	}
	if named != nil {
		for i, k := range named.keys {
			d.set(k, named.values[i])
		}
	}
}

var cyclerMethods = sync.OnceValue(func() map[string]*builtin {
	return map[string]*builtin{
		"next": def("/ self", func(_ *renderer, a []any) any {
			c, _ := a[0].(*cycler)
			v := c.items[c.at]
			c.at = (c.at + 1) % len(c.items)
			return v
		}),
		"reset": def("/ self", func(_ *renderer, a []any) any {
			c, _ := a[0].(*cycler)
			c.at = 0
			return nil
		}),
	}
})

// functions are Jinja2's functions, except lipsum.
var functions = sync.OnceValue(func() map[string]any {
	return map[string]any{
		"range": def("/ self start stop=None step=1", func(_ *renderer, a []any) any {
			r := interval{wholeNumber(a[1]), 0, wholeNumber(a[3])}
			if a[2] == nil {
				r.start, r.stop = 0, r.start
			} else {
				r.stop = wholeNumber(a[2])
			}
			if r.step == 0 {
				failf("the step of a range must not be zero")
			}
			return r
		}),
		"dict": def("/ self *", func(_ *renderer, a []any) any {
			d := &Dict{}
			list, named := others(a)
			d.update(list, named)
			return d
		}),
		"namespace": def("/ self *", func(_ *renderer, a []any) any {
			ns := &namespace{&Dict{}}
			list, named := others(a)
			ns.members.update(list, named)
			return ns
		}),
		"cycler": def("/ self *", func(_ *renderer, a []any) any {
			list, _ := others(a)
			if len(list) == 0 {
				failf("a cycler needs values")
			}
			return &cycler{items: list}
		}),
		"joiner": def("self sep=None", func(_ *renderer, a []any) any {
			used := false
			return function(func(*renderer, given) any {
				if !used {
					used = true
					return ""
				}
				if a[1] == nil {
					return ", "
				}
				return a[1]
			})
		}),
	}
})
