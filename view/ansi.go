package view

import (
	"strconv"
	"strings"

	"batch.example/batch/internal/printable"
)

// span is a piece of a text with one style.
type span struct {
	Class string // names of style classes; empty: the default style
	Text  string
}

// ansi splits an output at terminal escapes for colors, bold, italic and underlined text. It drops other
// escapes: the exact bytes can be downloaded. Characters that hide or reverse text are shown as escapes.
func ansi(text string) []span {
	if !strings.ContainsRune(text, '\x1b') {
		return []span{{Text: printable.Text(text)}}
	}
	var list []span
	var look style
	for text != "" {
		at := strings.IndexByte(text, '\x1b')
		if at < 0 {
			at = len(text)
		}
		if at > 0 {
			list = append(list, span{look.class(), printable.Text(text[:at])})
		}
		text = text[at:]
		if text != "" {
			var parameters string
			var color bool
			if parameters, color, text = printable.Escape(text); color {
				look.set(parameters)
			}
		}
	}
	return list
}

// style is how a terminal shows text.
type style struct {
	color                   int // number of the color, from 1; 0: the default
	bold, italic, underline bool
}

// set applies the parameters of an escape.
func (s *style) set(parameters string) {
	numbers := strings.FieldsFunc(parameters, func(r rune) bool { return r == ';' || r == ':' })
	if len(numbers) == 0 {
		*s = style{}
	}
	for i := 0; i < len(numbers); i++ {
		n, err := strconv.Atoi(numbers[i])
		if err != nil {
			return
		}
		switch {
		case n == 0:
			*s = style{}
		case n == 1:
			s.bold = true
		case n == 3:
			s.italic = true
		case n == 4:
			s.underline = true
		case n == 22:
			s.bold = false
		case n == 23:
			s.italic = false
		case n == 24:
			s.underline = false
		case n >= 30 && n <= 37:
			s.color = n - 29
		case n >= 90 && n <= 97:
			s.color = n - 89
		case n == 39:
			s.color = 0
		case n == 38 || n == 48: // a color from a palette, or of three components
			i += 2
			if i-1 < len(numbers) && numbers[i-1] == "2" {
				i += 2
			}
		}
	}
}

func (s style) class() string {
	var names []string
	if s.color > 0 {
		names = append(names, "a"+strconv.Itoa(s.color-1))
	}
	if s.bold {
		names = append(names, "ab")
	}
	if s.italic {
		names = append(names, "ai")
	}
	if s.underline {
		names = append(names, "au")
	}
	return strings.Join(names, " ")
}
