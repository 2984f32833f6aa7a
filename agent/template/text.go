package template

import (
	"html"
	"strings"
	"unicode/utf8"

	"batch.example/batch/internal/lazy"
	"batch.example/batch/internal/python"
)

// textFilters are the filters of texts.
func textFilters() map[string]*builtin {
	return map[string]*builtin{
		"capitalize": one(capitalize),
		"lower":      one(lower),
		"upper":      one(upper),
		"title":      def("value", func(_ *renderer, a []any) any { return title(str(a[0])) }),
		"center": def("value width=80", func(_ *renderer, a []any) any {
			return like(a[0], centered(str(a[0]), wholeNumber(a[1]), " "))
		}),
		"escape":      def("value", func(_ *renderer, a []any) any { return safe(escapeHTML(a[0])) }),
		"forceescape": def("value", func(_ *renderer, a []any) any { return safe(escapeHTML(str(a[0]))) }),
		"safe":        def("value", func(_ *renderer, a []any) any { return safe(str(a[0])) }),
		"striptags":   def("value", func(_ *renderer, a []any) any { return stripTags(str(a[0])) }),
		"trim":        def("value chars=None", func(_ *renderer, a []any) any { return like(a[0], strip(str(a[0]), a[1], true, true)) }),
		"format":      def("value *", formatFilter),
		"indent":      def("value width=4 first=False blank=False", indent),
		"replace":     def("value old new count=None", replaceFilter),
		"truncate":    def("value length=255 killwords=False end='...' leeway=None", truncate),
		"urlencode":   def("value", urlEncode),
		"urlize":      def("value trim_url_limit=None nofollow=False target=None rel=None extra_schemes=None", urlize),
		"wordcount":   def("value", func(_ *renderer, a []any) any { return wordCount(str(a[0])) }),
		"wordwrap":    def("value width=79 break_long_words=True wrapstring=None break_on_hyphens=True", wordWrap),
		"xmlattr":     def("value autospace=True", xmlAttr),
	}
}

var htmlEscapes = strings.NewReplacer("&", "&amp;", ">", "&gt;", "<", "&lt;", "'", "&#39;", `"`, "&#34;")

// escapes reports whether what is combined with v is escaped.
func escapes(v any) bool {
	_, ok := v.(safe)
	return ok
}

// escapeHTML escapes a value, unless it is safe.
func escapeHTML(v any) string {
	if s, ok := v.(safe); ok {
		return string(s)
	}
	return htmlEscapes.Replace(str(v))
}

// stripTags is Markup.striptags: without comments and tags, white space collapsed.
func stripTags(s string) string {
	for _, mark := range [][2]string{{"<!--", "-->"}, {"<", ">"}} {
		at := 0
		for {
			begin := strings.Index(s[at:], mark[0])
			if begin < 0 {
				break
			}
			begin += at
			end := strings.Index(s[begin:], mark[1])
			if end < 0 {
				break
			}
			s, at = s[:begin]+s[begin+end+len(mark[1]):], begin
		}
	}
	return html.UnescapeString(strings.Join(strings.FieldsFunc(s, python.IsSpace), " "))
}

func formatFilter(_ *renderer, a []any) any {
	args, named := others(a)
	if len(args) > 0 && len(named.keys) > 0 {
		failf("the arguments have names or do not, not both")
	}
	var values any = &tuple{items: args}
	if len(named.keys) > 0 {
		values = named
	}
	return like(a[0], percent(str(a[0]), values, escapes(a[0])))
}

func indent(_ *renderer, a []any) any {
	margin, ok := stringOf(a[1])
	if !ok {
		margin = strings.Repeat(" ", bounded(max(0, wholeNumber(a[1]))))
	}
	lines := splitLines(stringArg(a[0])+"\n", false)
	bounded(len(lines) * len(margin))
	for i, line := range lines {
		if i > 0 && (line != "" || truth(a[3])) {
			lines[i] = margin + line
		}
	}
	s := strings.Join(lines, "\n")
	if truth(a[2]) {
		s = margin + s
	}
	return like(a[0], s)
}

func replaceFilter(_ *renderer, a []any) any {
	n := -1
	if a[3] != nil {
		n = wholeNumber(a[3])
	}
	return replaced(str(a[0]), str(a[1]), str(a[2]), n)
}

func replaced(s, old, by string, n int) string {
	if len(by) > len(old) {
		bounded(len(s) + min(strings.Count(s, old), most)*len(by))
	}
	return strings.Replace(s, old, by, n)
}

func truncate(_ *renderer, a []any) any {
	size, ok := length(a[0])
	most, end := wholeNumber(a[1]), stringArg(a[3])
	leeway := 5
	if a[4] != nil {
		leeway = wholeNumber(a[4])
	}
	endLength := utf8.RuneCountInString(end)
	switch {
	case !ok:
		failf("%s has no length", kind(a[0]))
	case most < endLength:
		failf("the length %d is less than the length of the end %q", most, end)
	case leeway < 0:
		failf("the leeway is less than 0")
	case size <= most+leeway:
		return a[0]
	}
	head := cutTo(stringArg(a[0]), most-endLength)
	if at := strings.LastIndex(head, " "); at >= 0 && !truth(a[2]) {
		head = head[:at]
	}
	return like(a[0], head+end)
}

var (
	wordPattern   = lazy.Regexp(`[\p{L}\p{N}_]+`)
	titlePattern  = lazy.Regexp(`[-\s\x0b\x1c-\x1f\x{85}\p{Z}({\[<]+`)
	attributeName = lazy.Regexp(`[\t\n\v\f\r />=]`)
)

func wordCount(s string) int { return len(wordPattern().FindAllStringIndex(s, -1)) }

// title is Jinja2's filter: each word begins with a capital letter.
func title(s string) string {
	var b strings.Builder
	word := func(w string) {
		_, first := utf8.DecodeRuneInString(w)
		b.WriteString(upper(w[:first]) + lower(w[first:]))
	}
	at := 0
	for _, gap := range titlePattern().FindAllStringIndex(s, -1) {
		word(s[at:gap[0]])
		word(s[gap[0]:gap[1]])
		at = gap[1]
	}
	word(s[at:])
	return b.String()
}

func urlEncode(_ *renderer, a []any) any {
	pairs := []string{}
	if d, ok := a[0].(*Dict); ok {
		a[0] = &list{items: d.items()}
	}
	_, isText := stringOf(a[0])
	items, ok := elements(a[0])
	if isText || !ok {
		return urlQuote(str(a[0]), "/")
	}
	quote := func(v any) string { return strings.ReplaceAll(urlQuote(str(v), ""), "%20", "+") }
	for _, pair := range items {
		parts := iterate(pair)
		if len(parts) != 2 {
			failf("expected pairs")
		}
		pairs = append(pairs, quote(parts[0])+"="+quote(parts[1]))
	}
	return strings.Join(pairs, "&")
}

func urlQuote(s, keep string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c < utf8.RuneSelf && (isNamePart(rune(c)) || strings.IndexByte("-.~"+keep, c) >= 0) {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

func xmlAttr(_ *renderer, a []any) any {
	d := dictArg(a[0])
	var list []string
	for i, k := range d.keys {
		if _, ok := d.values[i].(*undefined); ok || d.values[i] == nil {
			continue
		}
		if attributeName().MatchString(stringArg(k)) {
			failf("%q is not the name of an attribute", str(k))
		}
		list = append(list, escapeHTML(k)+`="`+escapeHTML(d.values[i])+`"`)
	}
	s := strings.Join(list, " ")
	if truth(a[1]) && s != "" {
		s = " " + s
	}
	return s
}
