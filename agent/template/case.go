package template

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Letters that are several letters in the other case.
var (
	upperSpecial = strings.NewReplacer("ß", "SS", "ŉ", "ʼN", "ǰ", "J̌", "ﬀ", "FF", "ﬁ", "FI", "ﬂ", "FL", "ﬃ", "FFI", "ﬄ", "FFL", "ﬅ", "ST", "ﬆ", "ST", "և", "ԵՒ")
	lowerSpecial = strings.NewReplacer("İ", "i̇")
)

func upper(s string) string { return upperSpecial.Replace(strings.ToUpper(s)) }
func lower(s string) string { return strings.ToLower(lowerSpecial.Replace(s)) }

func capitalize(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return titled(s[:n]) + lower(s[n:])
}

func titled(s string) string {
	if t := upper(s); utf8.RuneCountInString(t) > utf8.RuneCountInString(s) {
		_, n := utf8.DecodeRuneInString(t)
		return t[:n] + lower(t[n:])
	}
	return strings.Map(unicode.ToTitle, s)
}

func isCased(r rune) bool { return unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r) }

func isLower(s string) bool {
	return strings.IndexFunc(s, isCased) >= 0 && strings.IndexFunc(s, func(r rune) bool { return unicode.IsUpper(r) || unicode.IsTitle(r) }) < 0
}

func isUpper(s string) bool {
	return strings.IndexFunc(s, isCased) >= 0 && strings.IndexFunc(s, func(r rune) bool { return unicode.IsLower(r) || unicode.IsTitle(r) }) < 0
}

// titleWords is str.title: a letter after what is not one becomes large, others small.
func titleWords(s string) string {
	var b strings.Builder
	after := false
	for _, r := range s {
		if after {
			b.WriteString(lower(string(r)))
		} else {
			b.WriteString(titled(string(r)))
		}
		after = isCased(r)
	}
	return b.String()
}

func isTitle(s string) bool {
	after, any := false, false
	for _, r := range s {
		large := unicode.IsUpper(r) || unicode.IsTitle(r)
		if large && after || unicode.IsLower(r) && !after {
			return false
		}
		after = isCased(r)
		any = any || after
	}
	return any
}

func swapCase(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsUpper(r) {
			b.WriteString(lower(string(r)))
		} else {
			b.WriteString(upper(string(r)))
		}
	}
	return b.String()
}
