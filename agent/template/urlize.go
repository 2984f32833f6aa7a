package template

import (
	"slices"
	"strings"
	"unicode/utf8"

	"batch.example/batch/internal/lazy"
)

// The expressions are Jinja2's.
var (
	urlPattern = lazy.Regexp(`(?i)^((https?://|www\.)(([\w%-]+\.)+)?([a-z]{2,63}|xn--[\w%]{2,59})|([\w%-]{2,63}\.)+(com|net|int|edu|gov|org|info|mil)|` +
		`(https?://)((([\d]{1,3})(\.[\d]{1,3}){3})|(\[([\da-f]{0,4}:){2}([\da-f]{0,4}:?){1,6}])))(?::[\d]{1,5})?(?:[/?#]\S*)?$`)
	emailPattern  = lazy.Regexp(`^\S+@\w[\w.-]*\.\w+$`)
	wordOrSpace   = lazy.Regexp(`\s+|\S+`)
	headPattern   = lazy.Regexp(`^(?:[(<]|&lt;)+`)
	tailPattern   = lazy.Regexp(`(?:[)>.,\n]|&gt;)+$`)
	schemePattern = lazy.Regexp(`^[\w.+-]{2,}:/{0,2}$`)
)

// urlize makes links of addresses in a text.
func urlize(_ *renderer, a []any) any {
	l := linker{limit: -1}
	if a[1] != nil {
		l.limit = wholeNumber(a[1])
	}
	var rel []string
	if a[4] != nil {
		rel = strings.Fields(stringArg(a[4]))
	}
	if rel = append(rel, "noopener"); truth(a[2]) {
		rel = append(rel, "nofollow")
	}
	slices.Sort(rel)
	l.attributes = ` rel="` + escapeHTML(strings.Join(slices.Compact(rel), " ")) + `"`
	if a[3] != nil && truth(a[3]) {
		l.attributes += ` target="` + escapeHTML(a[3]) + `"`
	}
	if a[5] != nil {
		for _, v := range iterate(a[5]) {
			s := stringArg(v)
			if !schemePattern().MatchString(s) {
				failf("%q is not the beginning of an address", s)
			}
			l.schemes = append(l.schemes, s)
		}
	}
	var b strings.Builder
	for _, word := range wordOrSpace().FindAllString(escapeHTML(a[0]), -1) {
		b.WriteString(l.word(word))
	}
	return b.String()
}

type linker struct {
	limit      int
	attributes string
	schemes    []string
}

func (l linker) word(word string) string {
	head := headPattern().FindString(word)
	middle := word[len(head):]
	tail := tailPattern().FindString(middle)
	middle = middle[:len(middle)-len(tail)]
	for _, pair := range [][2]string{{"(", ")"}, {"<", ">"}, {"&lt;", "&gt;"}} {
		open := strings.Count(middle, pair[0])
		if open <= strings.Count(middle, pair[1]) {
			continue
		}
		for range min(open, strings.Count(tail, pair[1])) {
			end := strings.Index(tail, pair[1]) + len(pair[1])
			middle, tail = middle+tail[:end], tail[end:]
		}
	}
	return head + l.link(middle) + tail
}

func (l linker) link(s string) string {
	switch {
	case urlPattern().MatchString(s):
		address, shown := s, s
		if !strings.HasPrefix(s, "https://") && !strings.HasPrefix(s, "http://") {
			address = "https://" + s
		}
		if l.limit >= 0 && utf8.RuneCountInString(s) > l.limit {
			shown = cutTo(s, l.limit) + "..."
		}
		return `<a href="` + address + `"` + l.attributes + `>` + shown + `</a>`
	case strings.HasPrefix(s, "mailto:") && emailPattern().MatchString(s[7:]):
		return `<a href="` + s + `">` + s[7:] + `</a>`
	case strings.Contains(s, "@") && !strings.HasPrefix(s, "www.") && !strings.HasPrefix(s, "@") && !strings.Contains(s, ":") && emailPattern().MatchString(s):
		return `<a href="mailto:` + s + `">` + s + `</a>`
	}
	for _, scheme := range l.schemes {
		if s != scheme && strings.HasPrefix(s, scheme) {
			s = `<a href="` + s + `"` + l.attributes + `>` + s + `</a>`
		}
	}
	return s
}
