package template

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

// wordSeparators is the expression of Python's textwrap.
var wordSeparators = sync.OnceValue(func() *regexp2.Regexp {
	const ws, wp, lt = `[\t\n\x0b\x0c\r ]`, `[\w!"'&.,?]`, `[^\d\W]`
	return regexp2.MustCompile(`(`+ws+`+|(?<=`+wp+`)-{2,}(?=\w)|[^\t\n\x0b\x0c\r ]+?(?:-(?:(?<=`+lt+`{2}-)|(?<=`+lt+`-`+lt+`-))(?=`+lt+`-?`+lt+`)|(?=`+ws+`|\z)|(?<=`+wp+`)(?=-{2,}\w)))`, 0)
})

const wrapSpace = "\t\n\v\f\r "

func wordWrap(_ *renderer, a []any) any {
	width := wholeNumber(a[1])
	if width <= 0 {
		failf("the width must be more than 0")
	}
	end := "\n"
	if a[3] != nil {
		end = stringArg(a[3])
	}
	var lines []string
	for _, line := range splitLines(stringArg(a[0]), false) {
		lines = append(lines, strings.Join(wrap(line, width, truth(a[2]), truth(a[4])), end))
	}
	return strings.Join(lines, end)
}

// chunks splits a line where it can be wrapped.
func chunks(line string, hyphens bool) (list []string) {
	if !hyphens {
		for line != "" {
			n := strings.IndexAny(line, wrapSpace)
			if n == 0 {
				n = len(line) - len(strings.TrimLeft(line, wrapSpace))
			} else if n < 0 {
				n = len(line)
			}
			list, line = append(list, line[:n]), line[n:]
		}
		return list
	}
	runes := []rune(line)
	at := 0
	for m, err := wordSeparators().FindRunesMatch(runes); err == nil && m != nil; m, err = wordSeparators().FindNextMatch(m) {
		if m.Index > at {
			list = append(list, string(runes[at:m.Index]))
		}
		at = m.Index + m.Length
		list = append(list, m.String())
	}
	if at < len(runes) {
		list = append(list, string(runes[at:]))
	}
	return list
}

// wrap is textwrap.wrap for one line.
func wrap(text string, width int, breakLong, hyphens bool) (lines []string) {
	list := chunks(text, hyphens)
	slices.Reverse(list)
	blank := func(s string) bool { return strings.TrimLeft(s, wrapSpace) == "" }
	for len(list) > 0 {
		var line []string
		length := 0
		if blank(list[len(list)-1]) && len(lines) > 0 {
			list = list[:len(list)-1]
		}
		for len(list) > 0 {
			last := list[len(list)-1]
			n := utf8.RuneCountInString(last)
			if length+n > width {
				break
			}
			line, list, length = append(line, last), list[:len(list)-1], length+n
		}
		if len(list) > 0 && utf8.RuneCountInString(list[len(list)-1]) > width {
			line = breakWord(line, list, width-length, breakLong, hyphens)
			if list[len(list)-1] == "" {
				list = list[:len(list)-1]
			}
		}
		if len(line) > 0 && blank(line[len(line)-1]) {
			line = line[:len(line)-1]
		}
		if len(line) > 0 {
			lines = append(lines, strings.Join(line, ""))
		}
	}
	return lines
}

// breakWord moves what fits of the last chunk, which is longer than a line, to the line.
func breakWord(line, list []string, room int, breakLong, hyphens bool) []string {
	last := list[len(list)-1]
	switch {
	case breakLong:
		end := byteOffset(last, max(room, 1))
		if at := strings.LastIndex(last[:end], "-"); hyphens && at > 0 && strings.Trim(last[:at], "-") != "" && utf8.RuneCountInString(last) > room {
			end = at + 1
		}
		list[len(list)-1] = last[end:]
		return append(line, last[:end])
	case len(line) == 0:
		list[len(list)-1] = ""
		return append(line, last)
	}
	return line
}
