package template

import (
	"math"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"batch.example/batch/internal/lazy"
	"batch.example/batch/internal/python"
)

// builtin is a filter, a test, a method or range, applied to a value.
type builtin struct {
	params   []parameter
	required int
	run      func(r *renderer, v any, a []any) any
}

// parameter is a parameter of a builtin or a macro. If it has no argument, a builtin gets value; a macro
// evaluates otherwise, if there is one.
type parameter struct {
	name      string
	value     any
	otherwise func(r *renderer) any
}

// literals are the possible defaults in signatures.
var literals = map[string]any{"": "", "...": "...", "None": nil, "False": false, "-1": -1, "0": 0, "0.0": 0.0, "1": 1, "4": 4, "5": 5, "255": 255}

// def defines a builtin. The signature is Python's, without commas and quotes: parameters with
// a default are optional.
func def(signature string, run func(r *renderer, v any, a []any) any) *builtin {
	b := &builtin{run: run}
	for _, word := range strings.Fields(signature) {
		name, value, optional := strings.Cut(word, "=")
		if !optional {
			b.required++
		}
		b.params = append(b.params, parameter{name: name, value: literals[value]})
	}
	return b
}

func wholeNumber(v any) int {
	n, _, isFloat, ok := number(v)
	if !ok || isFloat {
		failf("expected a whole number, found %s", kind(v))
	}
	return n
}

func textArg(v any) string {
	s, ok := v.(string)
	if !ok {
		failf("expected text, found %s", kind(v))
	}
	return s
}

var rangeOf = def("start stop=None step=1", func(r *renderer, _ any, a []any) any {
	r.needsVariables()
	if _, ok := r.vars.get("range"); ok {
		failf("range is a variable here, and cannot be called")
	}
	start, stop, step := 0, wholeNumber(a[0]), wholeNumber(a[2])
	if a[1] != nil {
		start, stop = stop, wholeNumber(a[1])
	}
	if step == 0 {
		failf("the step of a range must not be zero")
	}
	v := &view{of: "range"}
	for n := start; step > 0 && n < stop || step < 0 && n > stop; n += step {
		bounded(itemSize * len(v.items))
		v.items = append(v.items, n)
	}
	r.spend(itemSize * len(v.items))
	return v
})

// value defines a builtin without parameters.
func value(f func(v any) any) *builtin {
	return def("", func(_ *renderer, v any, _ []any) any { return f(v) })
}

var filters = sync.OnceValue(func() map[string]*builtin {
	all := map[string]*builtin{
		"default": def("default_value= boolean=False", func(_ *renderer, v any, a []any) any {
			if _, ok := v.(*undefined); ok || truth(a[1]) && !truth(v) {
				return a[0]
			}
			return v
		}),
		"first": value(func(v any) any { return itemOr(iterate(v), 0, "first") }),
		"float": def("default=0.0", func(_ *renderer, v any, a []any) any {
			if f, ok := floatOf(v); ok {
				return f
			}
			return a[0]
		}),
		"indent":  def("width=4 first=False blank=False", indent),
		"int":     def("default=0", toInt),
		"join":    def("d=", func(_ *renderer, v any, a []any) any { return joined(str(a[0]), iterate(v), str) }),
		"last":    value(func(v any) any { return itemOr(iterate(v), len(iterate(v))-1, "last") }),
		"length":  def("", lengthOf),
		"list":    value(func(v any) any { return &list{items: iterate(v)} }),
		"lower":   value(func(v any) any { return like(v, otherCase(str(v), false)) }),
		"replace": def("old new count=None", replace),
		"round":   def("precision=0", round),
		"string":  value(func(v any) any { return like(v, str(v)) }),
		"tojson":  def("indent=None", toJSON),
		"trim": def("chars=None", func(_ *renderer, v any, a []any) any {
			return like(v, stripped(str(v), a[0], strings.TrimFunc))
		}),
		"truncate": def("length=255 killwords=False end=... leeway=5", truncate),
		"upper":    value(func(v any) any { return like(v, otherCase(str(v), true)) }),
	}
	all["d"], all["count"] = all["default"], all["length"]
	return all
})

func itemOr(items []any, n int, name string) any {
	if n >= 0 && n < len(items) {
		return items[n]
	}
	return &undefined{mistake: func() *mistake {
		m := mistakeAt(-1, "there is no %s item: the list is empty", name)
		m.item = true
		return m
	}}
}

// lengthOf returns the length of a text before it was cut, from which a template computes how much is hidden
// from the model.
func lengthOf(r *renderer, v any, _ []any) any {
	given, _ := r.vars.get(CutVar)
	if cut, ok := given.(Cut); ok && v == any(cut.Text) {
		return cut.Length
	}
	n, ok := length(v)
	if !ok {
		failf("%s has no length", kind(v))
	}
	return n
}

func joined(separator string, items []any, text func(any) string) string {
	var b strings.Builder
	for i, v := range items {
		if i > 0 {
			b.WriteString(separator)
		}
		b.WriteString(text(v))
		bounded(b.Len())
	}
	return b.String()
}

// splitLines is str.splitlines.
func splitLines(s string) (lines []string) {
	for rest := []byte(s); len(rest) > 0; {
		var line []byte
		line, rest = python.CutLine(rest)
		lines = append(lines, string(line))
	}
	return lines
}

func indent(_ *renderer, v any, a []any) any {
	s, ok := textOf(v)
	if !ok {
		failf("expected text, found %s", kind(v))
	}
	margin, ok := a[0].(string)
	if _, isMarkup := v.(markup); isMarkup && ok {
		failf("expected a number of blanks as the indent, found text")
	}
	if !ok {
		margin = strings.Repeat(" ", bounded(max(0, wholeNumber(a[0]))))
	}
	lines := splitLines(s + "\n")
	bounded(len(lines) * len(margin))
	for i, line := range lines {
		if i == 0 && truth(a[1]) || i > 0 && (line != "" || truth(a[2])) {
			lines[i] = margin + line
		}
	}
	return like(v, strings.Join(lines, "\n"))
}

func replace(_ *renderer, v any, a []any) any {
	n := -1
	if a[2] != nil {
		n = wholeNumber(a[2])
	}
	return replaced(str(v), str(a[0]), str(a[1]), n)
}

func replaced(s, old, by string, n int) string {
	if len(by) > len(old) {
		bounded(len(s) + min(strings.Count(s, old), maxSize)*len(by))
	}
	return strings.Replace(s, old, by, n)
}

func truncate(_ *renderer, v any, a []any) any {
	s, size, end := textArg(v), wholeNumber(a[0]), textArg(a[2])
	leeway := wholeNumber(a[3])
	endLength := utf8.RuneCountInString(end)
	switch {
	case size < endLength:
		failf("the length %d is less than the length of the end %q", size, end)
	case leeway < 0:
		failf("the leeway is less than 0")
	case utf8.RuneCountInString(s) <= size+leeway:
		return s
	}
	head := string([]rune(s)[:size-endLength])
	if at := strings.LastIndex(head, " "); at >= 0 && !truth(a[1]) {
		head = head[:at]
	}
	return head + end
}

// Patterns for the texts that Python's int and float accept. Python also accepts digits of other scripts,
// which are refused here.
var (
	wholeText = lazy.Regexp(`^[+-]?\d+(?:_\d+)*$`)
	floatText = lazy.Regexp(`(?i)^[+-]?(?:(?:\d+(?:_\d+)*\.?(?:\d+(?:_\d+)*)?|\.\d+(?:_\d+)*)(?:e[+-]?\d+(?:_\d+)*)?|inf|infinity|nan)$`)
)

// floatOf is Python's float(v).
func floatOf(v any) (float64, bool) {
	if _, f, _, ok := number(v); ok {
		return f, true
	}
	if u, ok := v.(*undefined); ok {
		panic(u.mistake())
	}
	s, ok := textOf(v)
	s = numberTrimmed(s)
	if !ok || !floatText().MatchString(s) {
		return 0, false
	}
	f, _ := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64) // too large a number becomes infinite
	if strings.HasSuffix(strings.ToLower(s), "nan") {
		f = math.NaN()
	}
	return notNaN(f), true
}

func numberTrimmed(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf && (unicode.IsDigit(r) || python.IsSpace(r)) }) {
		failf("a number has blanks or digits beyond ASCII")
	}
	return strings.Trim(s, " \t\n\v\f\r")
}

func toInt(_ *renderer, v any, a []any) any {
	if n, _, isFloat, ok := number(v); ok && !isFloat {
		return n
	}
	s, isText := textOf(v)
	if s = numberTrimmed(s); wholeText().MatchString(s) {
		n, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 10, 64)
		if err != nil {
			failf(tooLarge)
		}
		return int(n)
	}
	f, ok := floatOf(v)
	switch {
	case !ok, isText && math.IsInf(f, 0):
		return a[0]
	case math.Abs(f) >= 1<<63:
		failf(tooLarge)
	}
	return int(f)
}

func round(_ *renderer, v any, a []any) any {
	digits := wholeNumber(a[0])
	n, f, isFloat, ok := number(v)
	switch {
	case !ok:
		failf("expected a number, found %s", kind(v))
	case digits < 0:
		failf("the precision is less than 0")
	case !isFloat:
		return n
	}
	f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'f', min(digits, 1100), 64), 64)
	return f
}

var tests = sync.OnceValue(func() map[string]func(v any) bool {
	rest := func(v any) any {
		if _, _, _, ok := number(v); !ok {
			failf("expected a number, found %s", kind(v))
		}
		return operate("%", v, 2)
	}
	return map[string]func(v any) bool{
		"defined":   func(v any) bool { _, ok := v.(*undefined); return !ok },
		"undefined": func(v any) bool { _, ok := v.(*undefined); return ok },
		"none":      func(v any) bool { return v == nil },
		"boolean":   func(v any) bool { _, ok := v.(bool); return ok },
		"true":      func(v any) bool { return v == any(true) },
		"false":     func(v any) bool { return v == any(false) },
		"integer":   func(v any) bool { _, ok := v.(int); return ok },
		"float":     func(v any) bool { _, ok := v.(float64); return ok },
		"number":    func(v any) bool { _, _, _, ok := number(v); return ok },
		"string":    func(v any) bool { _, ok := textOf(v); return ok },
		"mapping":   isDict,
		"even":      func(v any) bool { return rest(v) == any(0) },
		"odd":       func(v any) bool { return rest(v) == any(1) },
	}
})

var methods = sync.OnceValue(func() map[string]*builtin {
	ofText := func(signature string, f func(s string, a []any) any) *builtin {
		return def(signature, func(_ *renderer, v any, a []any) any { return f(textArg(v), a) })
	}
	trimmed := func(trim func(string, func(rune) bool) string) *builtin {
		return ofText("chars=None", func(s string, a []any) any { return stripped(s, a[0], trim) })
	}
	ofDict := func(signature string, f func(d *Dict, a []any) any) *builtin {
		return def(signature, func(_ *renderer, v any, a []any) any {
			d, ok := v.(*Dict)
			if !ok {
				failf("expected a dict, found %s", kind(v))
			}
			return f(d, a)
		})
	}
	return map[string]*builtin{
		"endswith": ofText("suffix", func(s string, a []any) any { return strings.HasSuffix(s, textArg(a[0])) }),
		"join":     ofText("iterable", func(s string, a []any) any { return joined(s, iterate(a[0]), textArg) }),
		"lower":    ofText("", func(s string, _ []any) any { return otherCase(s, false) }),
		"lstrip":   trimmed(strings.TrimLeftFunc),
		"replace": ofText("old new count=-1", func(s string, a []any) any {
			return replaced(s, textArg(a[0]), textArg(a[1]), wholeNumber(a[2]))
		}),
		"rstrip":     trimmed(strings.TrimRightFunc),
		"split":      ofText("sep=None maxsplit=-1", func(s string, a []any) any { return texts(split(s, a[0], wholeNumber(a[1]))) }),
		"splitlines": ofText("", func(s string, _ []any) any { return texts(splitLines(s)) }),
		"startswith": ofText("prefix", func(s string, a []any) any { return strings.HasPrefix(s, textArg(a[0])) }),
		"strip":      trimmed(strings.TrimFunc),
		"upper":      ofText("", func(s string, _ []any) any { return otherCase(s, true) }),
		"get": ofDict("key default=None", func(d *Dict, a []any) any {
			if v, ok := d.get(a[0]); ok {
				return v
			}
			return a[1]
		}),
		"keys":   ofDict("", func(d *Dict, _ []any) any { return &view{"keys", d.keys} }),
		"values": ofDict("", func(d *Dict, _ []any) any { return &view{"values", d.values} }),
		"items": ofDict("", func(d *Dict, _ []any) any {
			v := &view{of: "items"}
			for i, k := range d.keys {
				v.items = append(v.items, &list{items: []any{k, d.values[i]}, tuple: true})
			}
			return v
		}),
	}
})

// stripped trims chars from s with one of the trim functions; nil chars are blanks.
func stripped(s string, chars any, trim func(string, func(rune) bool) string) string {
	if chars == nil {
		return trim(s, python.IsSpace)
	}
	set := textArg(chars)
	return trim(s, func(r rune) bool { return strings.ContainsRune(set, r) })
}

// split is str.split with at most n splits; a negative n means any number.
func split(s string, sep any, n int) []string {
	switch by, _ := sep.(string); {
	case sep == nil && n < 0:
		return strings.FieldsFunc(s, python.IsSpace)
	case by == "":
		failf("the separator must be a text that is not empty")
	case n >= 0:
		return strings.SplitN(s, by, n+1)
	default:
		return strings.Split(s, by)
	}
	return nil
}

func texts(lines []string) *list {
	l := &list{items: make([]any, len(lines))}
	for i, s := range lines {
		l.items[i] = s
	}
	return l
}
