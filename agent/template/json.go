package template

import (
	"math"
	"slices"
	"strings"

	"batch.example/batch/internal/python"
)

// toJSON is Jinja2's filter: sorted keys, ASCII only and safe inside HTML.
func toJSON(v, indent any) safe {
	j := jsonWriter{step: "", pretty: indent != nil}
	if n, _, isFloat, ok := number(indent); ok && !isFloat {
		j.step = strings.Repeat(" ", bounded(max(n, 0)))
	} else if indent != nil {
		j.step = stringArg(indent)
	}
	j.value(v, "\n")
	return safe(strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`, "'", `\u0027`).Replace(j.b.String()))
}

type jsonWriter struct {
	b      strings.Builder
	step   string
	pretty bool
	depth  int
}

func (j *jsonWriter) value(v any, line string) {
	if j.depth++; j.depth > maxDepth || j.b.Len() > most {
		failf("the JSON is too large, or a value contains itself")
	}
	defer func() { j.depth-- }()
	switch v := v.(type) {
	case nil:
		j.b.WriteString("null")
	case bool:
		j.b.WriteString(map[bool]string{true: "true", false: "false"}[v])
	case int:
		j.b.WriteString(repr(v))
	case float64:
		j.b.WriteString(jsonFloat(v))
	case string:
		j.text(v)
	case safe:
		j.text(string(v))
	case *list:
		j.enclosed("[", "]", line, len(v.items), func(i int, line string) { j.value(v.items[i], line) })
	case *tuple:
		j.enclosed("[", "]", line, len(v.items), func(i int, line string) { j.value(v.items[i], line) })
	case *Dict:
		keys := sortedValues(v.keys, func(k any) any { return k }, false)
		j.enclosed("{", "}", line, len(keys), func(i int, line string) {
			j.text(jsonKey(keys[i]))
			j.b.WriteString(": ")
			member, _ := v.get(keys[i])
			j.value(member, line)
		})
	default:
		failf("JSON cannot have %s", kind(v))
	}
}

func (j *jsonWriter) enclosed(begin, end, line string, n int, item func(i int, line string)) {
	inner := line + j.step
	j.b.WriteString(begin)
	for i := range n {
		switch {
		case j.pretty && i > 0:
			j.b.WriteString(",")
		case i > 0:
			j.b.WriteString(", ")
		}
		if j.pretty {
			j.b.WriteString(inner)
		}
		item(i, inner)
	}
	if j.pretty && n > 0 {
		j.b.WriteString(line)
	}
	j.b.WriteString(end)
}

func (j *jsonWriter) text(s string) {
	data, err := python.Dumps(s, 0)
	if err != nil {
		failf("the text cannot be written as JSON")
	}
	j.b.Write(data)
}

func jsonFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 0):
		return strings.Replace(floatRepr(f), "inf", "Infinity", 1)
	}
	return floatRepr(f)
}

func jsonKey(k any) string {
	switch k := k.(type) {
	case string:
		return k
	case safe:
		return string(k)
	case nil:
		return "null"
	case bool:
		return map[bool]string{true: "true", false: "false"}[k]
	case int:
		return repr(k)
	case float64:
		return jsonFloat(k)
	}
	failf("%s cannot be a key in JSON", kind(k))
	return ""
}

// sortedValues sorts by key, in reverse if asked; equal ones stay in order.
func sortedValues(items []any, key func(any) any, reverse bool) []any {
	type keyed struct{ key, value any }
	list := make([]keyed, len(items))
	for i, v := range items {
		list[i] = keyed{key(v), v}
	}
	slices.SortStableFunc(list, func(a, b keyed) int {
		if reverse {
			a, b = b, a
		}
		return order("<", a.key, b.key)
	})
	out := make([]any, len(items))
	for i, k := range list {
		out[i] = k.value
	}
	return out
}
