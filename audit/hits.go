package audit

import (
	"strings"

	"batch.example/batch/internal/printable"
)

// maxEvidence is about how long evidence may be, in bytes.
const maxEvidence = 200

// hits collects the findings of one detector.
type hits struct {
	task     *task
	detector string
	list     []Finding
	seen     map[[2]any]bool // by action and text
}

// add adds a finding with evidence from text, around part. A is nil for the patch.
func (h *hits) add(a *action, text, part string) {
	if h.seen[[2]any{a, text}] {
		return
	}
	h.seen[[2]any{a, text}] = true
	f := Finding{Detector: h.detector, Version: Version, Instance: h.task.view.Instance, Attempt: h.task.view.Attempt, Evidence: h.task.excerpt(text, part)}
	if a != nil {
		f.Step, f.Action = a.step, a.n
	}
	if f.Evidence != "" {
		h.list = append(h.list, f)
	}
}

// each adds the commands for which one returns a part, and the lines of programs at which the
// other finds something.
func (h *hits) each(inCommand func(command) string, inProgram func(code) []int) {
	for i := range h.task.actions {
		a := &h.task.actions[i]
		for _, c := range a.commands {
			if part := inCommand(c); part != "" {
				h.add(a, c.text, part)
			}
		}
		for _, p := range a.codes {
			for _, at := range inProgram(p) {
				h.add(a, lineOf(p.text, at), "")
			}
		}
	}
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
	cut := strings.ToValidUTF8(text[from:to], "")
	if from > 0 {
		cut = "..." + cut
	}
	if to < len(text) {
		cut += "..."
	}
	return cut
}

func oneLine(text string) string { return strings.TrimSpace(printable.Line(text)) }
