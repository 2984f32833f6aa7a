package progress

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/rivo/uniseg"
)

// vt is the subset of a terminal that the display may use: it prints, wraps, scrolls, moves up and erases.
// Any other sequence fails the test.
type vt struct {
	t          testing.TB
	cols, rows int

	mu     sync.Mutex
	lines  [][]string // all rows so far, the screen last; a cell is a grapheme, "" right of a wide one
	x, y   int        // y counts from the first row
	top    int        // the line that is the screen's first row
	nowrap bool
	writes int
	cut    int // graphemes that did not fit on a line while wrapping was off
}

func newVT(t testing.TB, cols, rows int) *vt {
	return &vt{t: t, cols: cols, rows: rows, lines: [][]string{nil}}
}

func (v *vt) size() (int, int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.cols, v.rows
}

func (v *vt) paintings() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.writes
}

func (v *vt) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.writes++
	s := string(p)
	for s != "" {
		switch s[0] {
		case '\r':
			v.x, s = 0, s[1:]
		case '\n':
			v.down()
			s = s[1:]
		case 0x1b:
			s = v.escape(s)
		default:
			var g string
			var w int
			g, s, w, _ = uniseg.FirstGraphemeClusterInString(s, -1)
			v.put(g, w)
		}
	}
	return len(p), nil
}

func (v *vt) escape(s string) string {
	end := strings.IndexAny(s, "AJKhl")
	if end < 0 || s[1] != '[' {
		v.t.Errorf("an escape sequence outside the subset: %.20q", s)
		return s[1:]
	}
	switch seq := s[1 : end+1]; seq {
	case "[K":
		v.lines[v.y] = v.lines[v.y][:min(v.x, len(v.lines[v.y]))]
	case "[J":
		if v.x == 0 && v.y == v.top && v.rows > 1 {
			v.t.Error("the whole screen is erased, which tmux keeps in its history")
		}
		v.lines[v.y] = v.lines[v.y][:min(v.x, len(v.lines[v.y]))]
		v.lines = v.lines[:v.y+1]
	case "[?7l", "[?7h":
		v.nowrap = seq == "[?7l"
	default:
		var n int
		if _, err := fmt.Sscanf(seq, "[%dA", &n); err != nil || n == 0 {
			v.t.Errorf("an escape sequence outside the subset: %q", seq)
		}
		v.y = max(v.top, v.y-n)
	}
	return s[end+1:]
}

func (v *vt) down() {
	v.y++
	for len(v.lines) <= v.y {
		v.lines = append(v.lines, nil)
	}
	v.top = max(v.top, v.y-v.rows+1)
}

func (v *vt) put(g string, w int) {
	if w == 0 || g[0] < ' ' || g[0] == 0x7f {
		v.t.Errorf("the terminal received the control character %q", g)
		return
	}
	if v.x+w > v.cols {
		if v.nowrap {
			v.cut++
			return
		}
		v.x = 0
		v.down()
	}
	line := v.lines[v.y]
	for len(line) < v.x+w {
		line = append(line, " ")
	}
	line[v.x] = g
	for i := 1; i < w; i++ {
		line[v.x+i] = ""
	}
	v.lines[v.y] = line
	v.x += w
}

// resize wraps lines again, like most terminals that become narrower.
func (v *vt) resize(cols, rows int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var lines [][]string
	y := 0
	for i, line := range v.lines {
		if i == v.y {
			y = len(lines)
		}
		for len(line) > cols {
			lines = append(lines, line[:cols])
			line = line[cols:]
		}
		lines = append(lines, line)
	}
	v.lines, v.y, v.cols, v.rows = lines, y, cols, rows
	v.top = max(0, len(lines)-rows)
}

// text returns the text on the screen and above it.
func (v *vt) text() string { return v.from(0) }

// visible returns the text on the screen.
func (v *vt) visible() string { return v.from(v.top) }

func (v *vt) from(first int) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var b strings.Builder
	for _, line := range v.lines[first:] {
		b.WriteString(strings.TrimRight(strings.Join(line, ""), " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}
