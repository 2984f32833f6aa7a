package progress

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rivo/uniseg"
	"github.com/schollz/progressbar/v3"

	"batch.example/batch/internal/printable"
)

const (
	widestBar   = 40
	smallestBar = 5
	maxCounts   = 3  // lines of counts on a high screen
	phaseCols   = 10 // length of the longest name of a phase
	engineCols  = 24 // longest shown address of an engine
	gap         = "  "
)

// frame draws the run as at most rows lines of less than cols columns: the last column stays free, because
// terminals differ in when they wrap a line there. Before the run begins, there are no lines.
func frame(s *state, now time.Time, cols, rows int) []string {
	if !s.begun {
		return nil
	}
	cols = max(1, cols-1)
	lines := append([]string{barLine(s, now, cols)}, countLines(s, cols, min(maxCounts, max(1, rows/4)))...)
	lines = append(lines, runningLines(s, now, cols, rows-len(lines))...)
	return lines[:min(len(lines), max(1, rows))]
}

// barLine returns "40% |████    | (4/10)  1m05s  ETA 1m38s  $1.23", or the parts of it that fit.
func barLine(s *state, now time.Time, cols int) string {
	eta := "ETA --"
	if d, known := s.left(now); known {
		eta = "ETA " + span(d)
	}
	elapsed, cost := span(s.elapsed(now)), printable.Dollars(s.spent)
	parts := []string{elapsed, eta, cost}
	if !s.end.IsZero() {
		parts = []string{elapsed, cost}
	}
	if s.grading {
		parts = parts[:len(parts)-1]
	}
	rest := gap + strings.Join(parts, gap)
	room := cols - width(bar(s.done(), s.total, 0)) - width(rest)
	if room >= smallestBar {
		return bar(s.done(), s.total, min(room, widestBar)) + rest
	}
	return strings.Join(fit([]string{fmt.Sprintf("%d/%d", s.done(), s.total), cost, eta, elapsed}, cols), gap)
}

// bar returns the bar with percentage and count; its inside is size columns wide.
func bar(done, total, size int) string {
	if total <= 0 {
		return fmt.Sprintf("(%d/%d)", done, total)
	}
	done = min(done, total)
	b := progressbar.NewOptions(total,
		progressbar.OptionSetWriter(io.Discard),
		progressbar.OptionSetWidth(size),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionShowCount(),
	)
	// Writing to io.Discard cannot fail, and done is within the bar.
	_ = b.Set(done)
	return strings.TrimRight(strings.TrimLeft(b.String(), "\r"), " ")
}

// fit returns the leading parts that fit on one line.
func fit(parts []string, cols int) []string {
	used := 0
	for i, p := range parts {
		if used += width(p); used > cols {
			if i == 0 {
				return []string{clip(p, cols)}
			}
			return parts[:i]
		}
		used += len(gap)
	}
	return parts
}

// countLines says how many instances run and how the others ended, in at most rows lines.
func countLines(s *state, cols, rows int) []string {
	var parts []string
	if s.end.IsZero() {
		parts = append(parts, fmt.Sprintf("running %d of %d", len(s.running), s.workers))
	}
	if s.kept > 0 {
		parts = append(parts, fmt.Sprintf("done before %d", s.kept))
	}
	if len(s.graded) > 0 {
		parts = append(parts, fmt.Sprintf("graded %d", len(s.graded)), fmt.Sprintf("resolved %d", s.resolved()))
	}
	if n := s.retried(); n > 0 {
		parts = append(parts, fmt.Sprintf("failed %d (will be retried)", n))
	}
	if n := s.failed() - s.retried(); n > 0 {
		parts = append(parts, fmt.Sprintf("failed %d (to be corrected)", n))
	}
	for _, c := range s.counts() {
		parts = append(parts, fmt.Sprintf("%s %d", c.status, c.n))
	}
	var lines []string
	for len(parts) > 0 && len(lines) < rows {
		line := fit(parts, cols)
		lines = append(lines, strings.Join(line, gap))
		parts = parts[len(line):]
	}
	return lines
}

// runningLines returns a line for each running attempt, at most rows lines.
func runningLines(s *state, now time.Time, cols, rows int) []string {
	list := s.oldestFirst()
	more := 0
	if len(list) > rows {
		more = len(list) - max(0, rows-1)
		list = list[:len(list)-more]
	}
	idCols := 0
	for _, a := range list {
		idCols = max(idCols, width(a.id))
	}
	lines := make([]string, 0, len(list)+1)
	for _, a := range list {
		lines = append(lines, runningLine(a, now, idCols, cols))
	}
	if more > 0 {
		lines = append(lines, clip(fmt.Sprintf("+ %d more", more), cols))
	}
	return lines
}

// runningLine gives the id the width that the other columns leave, and drops columns if that would be too
// narrow to recognize the instance.
func runningLine(a *attempt, now time.Time, idCols, cols int) string {
	age := fmt.Sprintf("%6s", span(max(0, now.Sub(a.Started))))
	work := ""
	if a.Step > 0 {
		work = fmt.Sprintf("step %-4d", a.Step)
	}
	phase, cost := pad(clip(a.phase(), phaseCols), phaseCols), ""
	if a.Cost > 0 {
		cost = printable.Dollars(a.Cost)
	}
	var rest string
	switch {
	case cols >= 62+len(gap)+engineCols && a.Engine != "":
		rest = gap + phase + gap + pad(work, 15) + gap + fmt.Sprintf("%7s", cost) + gap + age + gap + pad(shorten(printable.Line(a.Engine), engineCols), engineCols)
	case cols >= 62:
		rest = gap + phase + gap + pad(work, 15) + gap + fmt.Sprintf("%7s", cost) + gap + age
	case cols >= 38:
		rest = gap + phase + gap + age
	default:
		rest = " " + age
	}
	id := max(0, min(idCols, cols-width(rest)))
	return clip(pad(shorten(a.id, id), id)+rest, cols)
}

func width(s string) int { return uniseg.StringWidth(s) }

// clip truncates s on the right to at most cols columns.
func clip(s string, cols int) string {
	if len(s) <= cols || width(s) <= cols {
		return s
	}
	var used, end int
	for g := uniseg.NewGraphemes(s); g.Next(); {
		if used += g.Width(); used > cols {
			break
		}
		_, end = g.Positions()
	}
	return s[:end]
}

// shorten truncates s on the left, where ids differ least, to at most cols columns.
func shorten(s string, cols int) string {
	if width(s) <= cols {
		return s
	}
	if cols <= 3 {
		return strings.Repeat(".", max(0, cols))
	}
	begin, used := 0, width(s)
	for g := uniseg.NewGraphemes(s); used > cols-3 && g.Next(); {
		used -= g.Width()
		_, begin = g.Positions()
	}
	return "..." + s[begin:]
}

// pad fills s with spaces on the right to cols columns.
func pad(s string, cols int) string {
	return s + strings.Repeat(" ", max(0, cols-width(s)))
}

// span returns d in at most six characters, in its two largest units.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	default:
		return fmt.Sprintf("%dd%02dh", d/day, d%day/time.Hour)
	}
}
