package template

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"batch.example/batch/internal/python"
)

func centered(s string, width int, fill string) string {
	if utf8.RuneCountInString(fill) != 1 {
		failf("expected one character to fill with, found %q", fill)
	}
	missing := bounded(max(0, width-utf8.RuneCountInString(s)))
	left := missing/2 + missing&width&1
	return strings.Repeat(fill, left) + s + strings.Repeat(fill, missing-left)
}

func padded(s string, width int, fill string, left bool) string {
	if utf8.RuneCountInString(fill) != 1 {
		failf("expected one character to fill with, found %q", fill)
	}
	more := strings.Repeat(fill, bounded(max(0, width-utf8.RuneCountInString(s))))
	if left {
		return more + s
	}
	return s + more
}

func strip(s string, chars any, left, right bool) string {
	is := python.IsSpace
	if chars != nil {
		set := stringArg(chars)
		is = func(r rune) bool { return strings.ContainsRune(set, r) }
	}
	if left {
		s = strings.TrimLeftFunc(s, is)
	}
	if right {
		s = strings.TrimRightFunc(s, is)
	}
	return s
}

// within returns the part of s between two positions, as arguments of find and similar
// methods, and where it begins; ok is false if the part cannot have even an empty text.
func within(s string, start, end any) (part string, from int, ok bool) {
	size := utf8.RuneCountInString(s)
	bound := func(v any, otherwise int) int {
		if v == nil {
			return otherwise
		}
		n := wholeNumber(v)
		if n < 0 {
			n = max(0, n+size)
		}
		return n
	}
	from = bound(start, 0)
	to := min(bound(end, size), size)
	if from > to {
		return "", from, false
	}
	begin := byteOffset(s, from)
	return s[begin : begin+byteOffset(s[begin:], to-from)], from, true
}

func find(a []any, index func(s, sub string) int) int {
	part, from, ok := within(asText(a[0]), a[2], a[3])
	sub := stringArg(a[1])
	if !ok {
		return -1
	}
	at := index(part, sub)
	if at < 0 {
		return -1
	}
	return from + utf8.RuneCountInString(part[:at])
}

func affix(a []any, has func(s, affix string) bool) bool {
	part, _, ok := within(asText(a[0]), a[2], a[3])
	if t, isTuple := a[1].(*tuple); isTuple {
		for _, v := range t.items {
			if ok && has(part, stringArg(v)) {
				return true
			}
		}
		return false
	}
	return has(part, stringArg(a[1])) && ok
}

func expandTabs(s string, size int) string {
	var b strings.Builder
	column := 0
	for _, r := range s {
		switch r {
		case '\t':
			if size > 0 {
				n := size - column%size
				b.WriteString(strings.Repeat(" ", bounded(n)))
				column += n
			}
			bounded(b.Len())
			continue
		case '\n', '\r':
			column = -1
		}
		b.WriteRune(r)
		column++
	}
	return b.String()
}

func every(f func(rune) bool) *builtin {
	return def("/ self", func(_ *renderer, a []any) any {
		s := asText(a[0])
		return s != "" && strings.IndexFunc(s, func(r rune) bool { return !f(r) }) < 0
	})
}

func whole(f func(string) bool) *builtin {
	return def("/ self", func(_ *renderer, a []any) any { return f(asText(a[0])) })
}

func changed(f func(string) string) *builtin {
	return def("/ self", func(_ *renderer, a []any) any { return like(a[0], f(asText(a[0]))) })
}

func isDigit(r rune) bool {
	return unicode.IsDigit(r) || strings.ContainsRune("¹²³⁰⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉", r)
}

func isIdentifier(s string) bool {
	for i, r := range s {
		if !isNamePart(r) || i == 0 && !unicode.IsLetter(r) && r != '_' {
			return false
		}
	}
	return s != ""
}

func zeroFill(s string, width int) string {
	if s != "" && (s[0] == '+' || s[0] == '-') {
		return s[:1] + padded(s[1:], width-1, "0", true)
	}
	return padded(s, width, "0", true)
}

func joinMethod(_ *renderer, a []any) any {
	var b strings.Builder
	_, escape := a[0].(safe)
	for i, v := range iterate(a[1]) {
		if i > 0 {
			b.WriteString(asText(a[0]))
		}
		s := stringArg(v)
		if escape {
			s = escapeHTML(v)
		}
		b.WriteString(s)
		bounded(b.Len())
	}
	return like(a[0], b.String())
}

// allStringMethods are the methods of Python's str.
func allStringMethods() map[string]*builtin {
	stripped := func(left, right bool) *builtin {
		return def("/ self chars=None", func(_ *renderer, a []any) any { return like(a[0], strip(asText(a[0]), a[1], left, right)) })
	}
	pad := func(left bool) *builtin {
		return def("/ self width fillchar=None", func(_ *renderer, a []any) any {
			return like(a[0], padded(asText(a[0]), wholeNumber(a[1]), orBlank(a[2]), left))
		})
	}
	found := func(index func(s, sub string) int, must bool) *builtin {
		return def("/ self sub start=None end=None", func(_ *renderer, a []any) any {
			at := find(a, index)
			if at < 0 && must {
				failf("%q is not in the text", str(a[1]))
			}
			return at
		})
	}
	affixed := func(has func(s, affix string) bool) *builtin {
		return def("/ self prefix start=None end=None", func(_ *renderer, a []any) any { return affix(a, has) })
	}
	cut := func(f func(s, affix string) string) *builtin {
		return def("/ self affix", func(_ *renderer, a []any) any { return like(a[0], f(asText(a[0]), stringArg(a[1]))) })
	}
	return map[string]*builtin{
		"capitalize": changed(capitalize), "casefold": changed(func(s string) string { return strings.ReplaceAll(lower(s), "ß", "ss") }),
		"lower": changed(lower), "upper": changed(upper), "title": changed(titleWords), "swapcase": changed(swapCase),
		"center": def("/ self width fillchar=None", func(_ *renderer, a []any) any {
			return like(a[0], centered(asText(a[0]), wholeNumber(a[1]), orBlank(a[2])))
		}),
		"ljust": pad(false), "rjust": pad(true),
		"zfill": def("/ self width", func(_ *renderer, a []any) any { return like(a[0], zeroFill(asText(a[0]), wholeNumber(a[1]))) }),
		"count": def("/ self sub start=None end=None", func(_ *renderer, a []any) any {
			part, _, ok := within(asText(a[0]), a[2], a[3])
			if sub := stringArg(a[1]); ok {
				return strings.Count(part, sub)
			}
			return 0
		}),
		"find": found(strings.Index, false), "rfind": found(strings.LastIndex, false),
		"index": found(strings.Index, true), "rindex": found(strings.LastIndex, true),
		"startswith": affixed(strings.HasPrefix), "endswith": affixed(strings.HasSuffix),
		"removeprefix": cut(strings.TrimPrefix), "removesuffix": cut(strings.TrimSuffix),
		"strip": stripped(true, true), "lstrip": stripped(true, false), "rstrip": stripped(false, true),
		"encode": def("self encoding='utf-8' errors='strict'", encode),
		"expandtabs": def("self tabsize=8", func(_ *renderer, a []any) any {
			return like(a[0], expandTabs(asText(a[0]), wholeNumber(a[1])))
		}),
		"format": def("/ self *", func(_ *renderer, a []any) any {
			args, named := others(append(a[:1:1], a[1:]...))
			return like(a[0], (&fields{list: args, named: named, escape: escapes(a[0])}).format(asText(a[0]), 0))
		}),
		"format_map": def("/ self mapping", func(_ *renderer, a []any) any {
			return like(a[0], (&fields{named: dictArg(a[1])}).format(asText(a[0]), 0))
		}),
		"isalnum": every(func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }), "isalpha": every(unicode.IsLetter),
		"isdecimal": every(unicode.IsDigit), "isdigit": every(isDigit), "isnumeric": every(unicode.IsNumber), "isspace": every(python.IsSpace),
		"isascii":      whole(func(s string) bool { return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 }),
		"isprintable":  whole(func(s string) bool { return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 }),
		"isidentifier": whole(isIdentifier), "islower": whole(isLower), "isupper": whole(isUpper), "istitle": whole(isTitle),
		"join":       def("/ self iterable", joinMethod),
		"partition":  def("/ self sep", func(_ *renderer, a []any) any { return partition(a, strings.Index, false) }),
		"rpartition": def("/ self sep", func(_ *renderer, a []any) any { return partition(a, strings.LastIndex, true) }),
		"replace": def("/ self old new count=-1", func(_ *renderer, a []any) any {
			return like(a[0], replaced(asText(a[0]), stringArg(a[1]), stringArg(a[2]), wholeNumber(a[3])))
		}),
		"split":      def("self sep=None maxsplit=-1", func(_ *renderer, a []any) any { return texts(a[0], split(asText(a[0]), a[1], wholeNumber(a[2]))) }),
		"rsplit":     def("self sep=None maxsplit=-1", func(_ *renderer, a []any) any { return texts(a[0], splitRight(asText(a[0]), a[1], wholeNumber(a[2]))) }),
		"splitlines": def("self keepends=False", func(_ *renderer, a []any) any { return texts(a[0], splitLines(asText(a[0]), truth(a[1]))) }),
	}
}

func orBlank(v any) string {
	if v == nil {
		return " "
	}
	return stringArg(v)
}

func encode(_ *renderer, a []any) any {
	switch name := strings.NewReplacer("-", "", "_", "").Replace(lower(stringArg(a[1]))); name {
	case "utf8":
		return octets(asText(a[0]))
	case "ascii", "latin1":
		most := map[string]rune{"ascii": 0x7f, "latin1": 0xff}[name]
		var b []byte
		for _, r := range asText(a[0]) {
			switch {
			case r <= most:
				b = append(b, byte(r))
			case str(a[2]) == "replace":
				b = append(b, '?')
			case str(a[2]) == "backslashreplace":
				b = append(b, escaped(r)...)
			case str(a[2]) != "ignore":
				failf("the character %q is not in %s", r, str(a[1]))
			}
		}
		return octets(b)
	}
	failf("the encoding %q is not supported: utf-8, ascii or latin-1", str(a[1]))
	return nil
}
