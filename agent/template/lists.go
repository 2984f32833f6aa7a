package template

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// listFilters are the filters of lists.
func listFilters() map[string]*builtin {
	return map[string]*builtin{
		"batch":      def("value linecount fill_with=None", batches),
		"dictsort":   def("value case_sensitive=False by='key' reverse=False", dictSort),
		"first":      def("value", func(_ *renderer, a []any) any { return nthOr(iterate(a[0]), 0, "first") }),
		"groupby":    def("value attribute default=None case_sensitive=False", groupBy),
		"items":      def("value", itemsOf),
		"join":       def("value d='' attribute=None", joined),
		"last":       def("value", func(_ *renderer, a []any) any { items := reversible(a[0]); return nthOr(items, len(items)-1, "last") }),
		"list":       def("value", func(_ *renderer, a []any) any { return &list{items: slices.Clone(iterate(a[0]))} }),
		"map":        def("value *", mapped),
		"max":        def("value case_sensitive=False attribute=None", func(r *renderer, a []any) any { return extreme(r, a, 1) }),
		"min":        def("value case_sensitive=False attribute=None", func(r *renderer, a []any) any { return extreme(r, a, -1) }),
		"random":     def("value", anyOf),
		"reject":     def("value *", func(r *renderer, a []any) any { return selected(r, a, false, "reject") }),
		"rejectattr": def("value *", func(r *renderer, a []any) any { return selectedBy(r, a, false, "rejectattr") }),
		"reverse":    def("value", reversed),
		"select":     def("value *", func(r *renderer, a []any) any { return selected(r, a, true, "select") }),
		"selectattr": def("value *", func(r *renderer, a []any) any { return selectedBy(r, a, true, "selectattr") }),
		"slice":      def("value slices fill_with=None", columns),
		"sort":       def("value reverse=False case_sensitive=False attribute=None", sorted),
		"sum":        def("value attribute=None start=0", sum),
		"unique":     def("value case_sensitive=False attribute=None", unique),
	}
}

func nthOr(items []any, n int, name string) any {
	if n >= 0 && n < len(items) {
		return items[n]
	}
	return &undefined{mistake: func() *mistake {
		m := mistakeAt(-1, "there is no %s item: the list is empty", name)
		m.item = true
		return m
	}}
}

func anyOf(_ *renderer, a []any) any {
	if d, ok := a[0].(*Dict); ok && len(d.keys) > 0 {
		failf("a dict has no random item: use its keys")
	}
	items := iterate(a[0])
	return nthOr(items, rand.IntN(max(1, len(items))), "random")
}

func reversible(v any) []any {
	if s, ok := v.(*stream); ok {
		failf("what %s returns has no last item: add | list", s.of)
	}
	return iterate(v)
}

func itemsOf(_ *renderer, a []any) any {
	if _, ok := a[0].(*undefined); ok {
		return &stream{of: "items"}
	}
	return &stream{of: "items", items: dictArg(a[0]).items()}
}

func batches(_ *renderer, a []any) any {
	n := wholeNumber(a[1])
	out := &stream{of: "batch"}
	var row []any
	for _, v := range iterate(a[0]) {
		if len(row) == n {
			out.items = append(out.items, &list{items: row})
			row = nil
		}
		row = append(row, v)
	}
	if len(row) > 0 {
		for a[2] != nil && len(row) < boundedItems(n) {
			row = append(row, a[2])
		}
		out.items = append(out.items, &list{items: row})
	}
	return out
}

func columns(_ *renderer, a []any) any {
	items, n := iterate(a[0]), wholeNumber(a[1])
	out := &stream{of: "slice"}
	if n == 0 {
		failf("division by zero")
	}
	at := 0
	for i := range boundedItems(max(n, 0)) {
		size := len(items) / n
		if i < len(items)%n {
			size++
		}
		column := slices.Clone(items[at : at+size])
		if at += size; a[2] != nil && i >= len(items)%n {
			column = append(column, a[2])
		}
		out.items = append(out.items, &list{items: column})
	}
	return out
}

func groupBy(r *renderer, a []any) any {
	get := r.attribute(a[1], a[2])
	key := func(v any) any {
		if v = get(v); !truth(a[3]) {
			v = ignoreCase(v)
		}
		return v
	}
	out := &list{}
	var last any
	for _, v := range sortedValues(iterate(a[0]), key, false) {
		k := key(v)
		if len(out.items) == 0 || !same(last, k) {
			out.items = append(out.items, &tuple{items: []any{get(v), &list{}}, names: []string{"grouper", "list"}})
			last = k
		}
		group, _ := out.items[len(out.items)-1].(*tuple)
		members, _ := group.items[1].(*list)
		members.items = append(members.items, v)
	}
	return out
}

func joined(r *renderer, a []any) any {
	get := r.attribute(a[2], nil)
	var b strings.Builder
	for i, v := range iterate(a[0]) {
		if i > 0 {
			b.WriteString(str(a[1]))
		}
		b.WriteString(str(get(v)))
		bounded(b.Len())
	}
	return b.String()
}

func extreme(r *renderer, a []any, sign int) any {
	key := r.key(a[2], a[1])
	items := iterate(a[0])
	best := nthOr(items, 0, "smallest or largest")
	for i, v := range items {
		if i > 0 && order("<", key(v), key(best))*sign > 0 {
			best = v
		}
	}
	return best
}

func reversed(_ *renderer, a []any) any {
	if s, ok := stringOf(a[0]); ok {
		r := []rune(s)
		slices.Reverse(r)
		return like(a[0], string(r))
	}
	items := slices.Clone(iterate(a[0]))
	slices.Reverse(items)
	return &stream{of: "reverse", items: items}
}

func sum(r *renderer, a []any) any {
	get := r.attribute(a[1], nil)
	total := a[2]
	if _, ok := stringOf(total); ok {
		failf("sum adds no text: use join")
	}
	for _, v := range iterate(a[0]) {
		total = operate("+", total, get(v))
	}
	return total
}

func unique(r *renderer, a []any) any {
	key := r.key(a[2], a[1])
	seen := &Dict{}
	out := &stream{of: "unique"}
	for _, v := range iterate(a[0]) {
		if k := key(v); seen.find(k) < 0 {
			seen.set(k, nil)
			out.items = append(out.items, v)
		}
	}
	return out
}
