package report

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// drawing is an SVG image that fills the width of its place. Horizontal positions are percents of
// the width, vertical ones are pixels: so a chart fits every screen, and its text keeps its size.
// Elements that differ by entry or state have classes, and the style sheet has their colors.
type drawing struct {
	strings.Builder
}

// newDrawing begins an image of a height. title and text are for screen readers.
func newDrawing(class string, height int, title, text string) *drawing {
	d := &drawing{}
	fmt.Fprintf(d, `<svg class="%s" width="100%%" height="%d" role="img" aria-label="%s"><title>%s</title>`,
		class, height, escaped(title), escaped(title))
	if text != "" {
		fmt.Fprintf(d, `<desc>%s</desc>`, escaped(text))
	}
	return d
}

// done ends the image.
func (d *drawing) done() template.HTML {
	d.WriteString("</svg>")
	return template.HTML(d.String()) //nolint:gosec // every text in it is escaped
}

// line draws a line between two places.
func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(d, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`, class, across(x1), short(y1), across(x2), short(y2))
}

// bar draws a rectangle, unless it would be too narrow to see.
func (d *drawing) bar(class string, x, y, width, height float64) {
	if width > 0 && height > 0 {
		fmt.Fprintf(d, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, class, across(x), short(y), across(width), short(height))
	}
}

// label writes text with its anchor (start, middle, end) at a position.
func (d *drawing) label(anchor string, x, y float64, text string) {
	fmt.Fprintf(d, `<text x="%s" y="%s" text-anchor="%s">%s</text>`, across(x), short(y), anchor, escaped(text))
}

// name writes the name of a point dx pixels beside it, or only its letter on narrow screens.
func (d *drawing) name(anchor string, x, y, dx float64, letter, name string) {
	fmt.Fprintf(d, `<text class="name" x="%s" y="%s" text-anchor="%s" dx="%s">%s<tspan class="long"> %s</tspan></text>`,
		across(x), short(y), anchor, short(dx), letter, escaped(name))
}

// mark draws the shape of an entry.
func (d *drawing) mark(k key, x, y float64) {
	fmt.Fprintf(d, `<svg x="%s" y="%s" overflow="visible"><path class="mark %s" d="%s"/></svg>`, across(x), short(y), k.Class, k.shape)
}

// dot draws a point that belongs to no entry.
func (d *drawing) dot(x, y float64) {
	fmt.Fprintf(d, `<circle class="dot" cx="%s" cy="%s" r="4.5"/>`, across(x), short(y))
}

func escaped(text string) string { return template.HTMLEscapeString(text) }

// across formats a position from 0 to 1 as a percentage.
func across(x float64) string { return short(100*x) + "%" }

// short formats a number with only visible digits.
func short(v float64) string {
	return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64)
}

// axis maps values to positions from 0 to 1.
type axis struct {
	low, high float64
	ticks     []float64
}

// newAxis covers at least low to high, and begins and ends at a round number, with about ticks
// ticks.
func newAxis(low, high float64, ticks int) axis {
	if !(high > low) {
		high = low + 1
	}
	return axisOf(low, high, roundStep((high-low)/float64(ticks)))
}

// newClock is newAxis for seconds from 0, with round numbers of seconds, minutes or hours.
func newClock(high float64, ticks int) axis {
	least := high / float64(ticks)
	for _, step := range []float64{60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400} {
		if least > 30 && step >= least {
			return axisOf(0, high, step)
		}
	}
	return newAxis(0, high, ticks)
}

// axisOf has ticks at the multiples of step.
func axisOf(low, high, step float64) axis {
	const slack = 1e-9 // for sums of decimal fractions
	first, last := math.Floor(low/step+slack), math.Ceil(high/step-slack)
	a := axis{low: first * step, high: last * step}
	for i := first; i <= last; i++ {
		a.ticks = append(a.ticks, i*step)
	}
	return a
}

// roundStep returns the smallest of 1, 2 and 5 times a power of ten that is at least step.
func roundStep(step float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(step)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= step*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// at returns the position of a value, limited to the ends. If the range overflows, all values are
// at the end.
func (a axis) at(v float64) float64 {
	place := (v - a.low) / (a.high - a.low)
	if math.IsNaN(place) {
		return 1
	}
	return min(1, max(0, place))
}

// dollars formats an amount at a tick, with the digits in which ticks differ.
func (a axis) dollars(v float64) string {
	const cents = 2
	digits := cents
	if len(a.ticks) > 1 {
		digits = max(cents, int(math.Ceil(-math.Log10(a.ticks[1]-a.ticks[0])-1e-9)))
	}
	return fmt.Sprintf("$%.*f", digits, v)
}

// anchor returns the anchor of a tick's label that keeps it inside the chart.
func (a axis) anchor(tick float64) string {
	switch at := a.at(tick); {
	case at < 0.02:
		return "start"
	case at > 0.98:
		return "end"
	default:
		return "middle"
	}
}

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

// sign returns the entry's shape and letter for a line of text.
func (k key) sign() template.HTML {
	return template.HTML(fmt.Sprintf(`<span class="sign"><svg class="swatch" width="14" height="14" viewBox="-7 -7 14 14" aria-hidden="true"><path class="mark %s" d="%s"/></svg>%s</span>`, k.Class, k.shape, k.Letter)) //nolint:gosec // all of it is from this file
}

// against names a pair by the signs of its two.
func (k key) against(other key) template.HTML {
	return `<span class="against">` + k.sign() + " against " + other.sign() + "</span>"
}

// head is the head of the entry's column of numbers.
func (k key) head() cell { return cell{Class: "n", Mark: k.sign()} }
