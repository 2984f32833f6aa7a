package audit

import (
	"slices"
	"strings"

	"batch.example/batch/internal/diff"
	"batch.example/batch/internal/lazy"
)

// goldLine is an added line of the solution that is long enough to be recognized.
type goldLine struct {
	text   string
	patch  int      // 0: the gold patch, 1: test_patch
	beside []string // the lines before and after it there; at least one
	words  []string // the words that are only in added lines
}

// findGoldText finds outputs with lines of the solution that the agent has not written.
func findGoldText(t *task, h *hits) {
	lines := map[string][]*goldLine{}
	known := t.knownText()
	var need [2]int // of different lines in one output
	for i, patch := range []string{t.row.Patch, t.row.TestPatch} {
		for _, l := range goldLines(patch) {
			if !strings.Contains(known, l.text) {
				l.patch = i
				lines[l.text] = append(lines[l.text], l)
				need[i] = min(2, need[i]+1)
			}
		}
	}
	if len(lines) == 0 {
		return
	}
	written := map[string]bool{} // the words of the agent so far
	for i := range t.actions {
		a := &t.actions[i]
		for _, w := range words(a.Command) {
			written[w] = true
		}
		if line := shownLine(a.Output, lines, need, written); line != "" {
			h.add(a, line, "")
		}
	}
}

// knownText returns the texts that the agent had before its first step.
func (t *task) knownText() string {
	var b strings.Builder
	for _, m := range t.view.Prompts {
		b.WriteString(m.Text + "\n")
	}
	if t.row != nil {
		b.WriteString(t.row.ProblemStatement)
	}
	return b.String()
}

// goldLines returns the lines of a patch that can be recognized.
func goldLines(patch string) (list []*goldLine) {
	files := diff.Read(patch)
	old := map[string]bool{}
	for _, f := range files {
		for _, kind := range []byte("- ") {
			for _, line := range f.Lines(kind) {
				old[strings.TrimSpace(line)] = true
				for _, w := range words(line) {
					old[w] = true
				}
			}
		}
	}
	for _, f := range files {
		for _, h := range f.Hunks {
			list = append(list, goldLinesOf(h.Lines, old)...)
		}
	}
	return list
}

// goldLinesOf returns the lines of one hunk.
func goldLinesOf(lines []diff.Line, old map[string]bool) (list []*goldLine) {
	var after []diff.Line // without empty and removed ones
	for _, l := range lines {
		if l.Text = shown(l.Text); l.Kind != '-' && len(l.Text) >= minBeside {
			after = append(after, l)
		}
	}
	for i, l := range after {
		g := &goldLine{text: l.Text}
		for _, w := range words(l.Text) {
			if !old[w] {
				g.words = append(g.words, w)
			}
		}
		if l.Kind != '+' || len(l.Text) < minLine || len(g.words) == 0 || old[l.Text] || common().MatchString(l.Text) {
			continue
		}
		for _, n := range []int{i - 1, i + 1} {
			if n >= 0 && n < len(after) {
				g.beside = append(g.beside, after[n].Text)
			}
		}
		if len(g.beside) > 0 {
			list = append(list, g)
		}
	}
	return list
}

// A line of the solution counts from this length on, and its neighbor from this one on.
const minLine, minBeside = 20, 6

// common matches lines that many files have: imports, decorators and comments.
var common = lazy.Regexp(`^(?:import|from|use|using|package|require|#|@|//|/?\*|\w+ = require)\b|^[#@*/]|(?i)copyright|licen[cs]e`)

var word = lazy.Regexp(`[A-Za-z_][A-Za-z_0-9]{3,}|\d{3,}`)

func words(text string) []string { return word().FindAllString(text, -1) }

// shownLine returns the first line of the solution in the output that is next to one of its neighbors, if
// at least need of them are. Lines do not count if the agent has written all of their new words.
func shownLine(output string, lines map[string][]*goldLine, need [2]int, written map[string]bool) string {
	first, have := [2]string{}, [2]map[string]bool{{}, {}}
	hit := func(l *goldLine) bool {
		if have[l.patch][l.text] = true; first[l.patch] == "" {
			first[l.patch] = l.text
		}
		return len(have[l.patch]) >= need[l.patch]
	}
	before, beforeText := []*goldLine(nil), ""
	for raw := range strings.Lines(output) {
		text := shown(raw)
		if len(text) < minBeside || raw[0] == '-' { // a diff removes it
			continue
		}
		for _, l := range before { // its neighbor may be below
			if slices.Contains(l.beside, text) && hit(l) {
				return first[l.patch]
			}
		}
		before = nil
		for _, l := range lines[text] {
			if !slices.ContainsFunc(l.words, func(w string) bool { return !written[w] }) {
				continue
			}
			if slices.Contains(l.beside, beforeText) && hit(l) {
				return first[l.patch]
			}
			before = append(before, l)
		}
		beforeText = text
	}
	return ""
}

// lineNumber matches what cat -n and grep -n put before a line.
var lineNumber = lazy.Regexp(`^(?:[\w./-]+[:-])?\s*\d+[\t:|-]\s?`)

// shown returns a line of an output without its number, and without the mark of a diff.
func shown(line string) string {
	line = strings.TrimRight(line, " \t\r\n")
	if line == "" {
		return ""
	}
	if c := strings.TrimLeft(line, " ")[0]; c >= '0' && c <= '9' || strings.ContainsAny(line[:min(len(line), 80)], ":-\t") {
		line = line[len(lineNumber().FindString(line)):]
	}
	return strings.TrimSpace(strings.TrimPrefix(line, "+"))
}
