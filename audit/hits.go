package audit

import (
	"strings"
	"unicode/utf8"

	"batch.example/batch/audit/shell"
	"batch.example/batch/internal/printable"
)

// maxEvidence is about how long evidence may be, in bytes.
const maxEvidence = 200

// hits collects the findings of one detector.
type hits struct {
	task     *task
	detector string
	list     []Finding
	seen     map[string]bool
}

// command adds a command of an action. Part is the text in it that hit; it may be empty.
func (h *hits) command(a *action, c shell.Command, part string) { h.add(a, c.Text, part) }

// add adds a finding with evidence from text, around part. A is nil for the patch.
func (h *hits) add(a *action, text, part string) {
	evidence := h.task.excerpt(text, part)
	if evidence == "" || h.seen[evidence] {
		return
	}
	if h.seen == nil {
		h.seen = map[string]bool{}
	}
	h.seen[evidence] = true
	f := Finding{Detector: h.detector, Instance: h.task.view.Instance, Attempt: h.task.view.Attempt, Evidence: evidence}
	if a != nil {
		f.Step, f.Action = a.step, a.n
	}
	h.list = append(h.list, f)
}

// excerpt returns text as one line without secrets, or the part of it around part.
func (t *task) excerpt(text, part string) string {
	text, part = oneLine(t.mask.Text(text)), oneLine(part)
	if len(text) <= maxEvidence {
		return text
	}
	from := 0
	if at := strings.Index(text, part); at > maxEvidence/2 {
		from = min(at-maxEvidence/4, len(text)-maxEvidence)
	}
	to := from + maxEvidence
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	cut := text[from:to]
	if from > 0 {
		cut = "..." + cut
	}
	if to < len(text) {
		cut += "..."
	}
	return cut
}

func oneLine(text string) string { return strings.TrimSpace(printable.Line(text)) }
