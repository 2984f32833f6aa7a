package audit

import (
	"path"
	"strings"

	"batch.example/batch/audit/diff"
	"batch.example/batch/internal/lazy"
)

var (
	asserting = lazy.Regexp(`(?i)\bassert|\bexpect|\bshould\b|==|\braises\b|\bequals?\(`)
	// literals matches texts of at least 12 bytes, and numbers of at least six digits.
	literals = lazy.Regexp(`'([^'\\\n]{12,})'|"([^"\\\n]{12,})"|(?:^|[^\w.])(\d{6,}(?:\.\d+)?|\d+\.\d{5,})(?:[^\w.]|$)`)
)

// findHardCoded finds expected values of the row's tests in the product code of the patch.
func findHardCoded(t *task, h *hits) {
	if len(t.patch) == 0 {
		return
	}
	old, expected := t.row.Patch+"\n"+t.knownText(), map[string]bool{}
	for _, f := range diff.Read(t.row.TestPatch) {
		old += "\n" + strings.Join(append(f.Lines('-'), f.Lines(' ')...), "\n")
		for _, line := range f.Lines('+') {
			if asserting().MatchString(line) {
				for _, l := range literalsIn(line) {
					expected[l] = true
				}
			}
		}
	}
	for _, f := range t.patch {
		if isTest(f.Path) || !isCode(f.Path) {
			continue
		}
		before := strings.Join(append(f.Lines('-'), f.Lines(' ')...), "\n")
		for _, line := range f.Lines('+') {
			for _, l := range literalsIn(line) {
				if expected[l] && !strings.Contains(old, l) && !strings.Contains(before, l) && !t.saw(l) {
					h.add(nil, f.Path+": +"+line, l)
				}
			}
		}
	}
}

// literalsIn returns the long literals of a line of code.
func literalsIn(line string) (list []string) {
	for _, m := range literals().FindAllStringSubmatch(line, -1) {
		l := m[1] + m[2] + m[3]
		if m[3] != "" || strings.Count(l, " ") > 0 || len(l) >= 16 {
			list = append(list, l)
		}
	}
	return list
}

// isCode reports whether a file may have product code: a change log has not.
func isCode(p string) bool {
	switch strings.ToLower(path.Ext(p)) {
	case "", ".md", ".rst", ".txt", ".po", ".pot", ".lock", ".svg", ".csv":
		return false
	}
	return !strings.HasPrefix(p, "doc/") && !strings.HasPrefix(p, "docs/")
}

// saw reports whether an output has a text.
func (t *task) saw(text string) bool {
	for _, a := range t.actions {
		if strings.Contains(a.Output, text) {
			return true
		}
	}
	return false
}
