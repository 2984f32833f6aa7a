package page

import (
	"fmt"
	"html/template"
)

// key identifies an entry in charts and tables by a letter, a shape and a color. Each of them is
// enough.
type key struct {
	Letter string // A, B, ..., Z, AA, ...
	Class  string // in the style sheet, which has the color
	shape  string // a path around 0,0
}

// shapes are drawn about ten pixels wide. The style sheet has as many colors.
var shapes = []string{
	"M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z",                        // circle
	"M-4.5-4.5h9v9h-9z",                                           // square
	"M0-6.2 6.2 0 0 6.2-6.2 0z",                                   // diamond
	"M0-5.8 5.8 4.6h-11.6z",                                       // triangle
	"M0 5.8 5.8-4.6h-11.6z",                                       // triangle that points down
	"M-1.8-5.5h3.6v3.7h3.7v3.6h-3.7v3.7h-3.6v-3.7h-3.7v-3.6h3.7z", // cross
	"M-3-5.2h6l3 5.2-3 5.2h-6l-3-5.2z",                            // hexagon
	"M0-6.2 1.8-1.8 6.2 0 1.8 1.8 0 6.2-1.8 1.8-6.2 0-1.8-1.8z",   // star
}

func keyOf(i int) key {
	n := i % len(shapes)
	return key{Letter: letters(i), Class: fmt.Sprintf("e%d", n), shape: shapes[n]}
}

// letters counts as spreadsheets name their columns.
func letters(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return letters(i/26-1) + letters(i%26)
}

// Sign returns the entry's shape and letter for a line of text.
func (k key) Sign() template.HTML {
	return template.HTML(fmt.Sprintf(`<span class="sign"><svg class="swatch" width="14" height="14" viewBox="-7 -7 14 14" aria-hidden="true"><path class="mark %s" d="%s"/></svg>%s</span>`, k.Class, k.shape, k.Letter)) //nolint:gosec // all of it is from this file
}
