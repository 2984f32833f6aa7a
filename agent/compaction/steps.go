package compaction

import (
	"fmt"
	"slices"

	"batch.example/batch/agent"
	"batch.example/batch/llm"
)

// leftOut is shown to the model in place of the steps that are left out.
const leftOut = "To keep the conversation short, %d messages were left out: what you wrote, and the output of your commands."

// remove returns the edits that leave whole steps out, the oldest first, until there are
// only so many messages; nil if that would not help. One line stands for all of them, at the
// place of the first.
func (d *draft) remove(most int) *agent.Rewriting {
	var gone [][2]int // from, to
	n, lines, before := 0, 0, 0
	for from := d.from; from < d.to && len(d.messages)-n+1 > most; {
		to := d.stepEnd(from)
		m := d.messages[from]
		switch {
		case to > d.to:
		case isLine(m):
			k, _ := number(m.Extra[messagesMember])
			n, lines, before, gone = n+1, lines+1, before+k, append(gone, [2]int{from, to})
		case !slices.ContainsFunc(d.messages[from:to], isSaid):
			n, gone = n+to-from, append(gone, [2]int{from, to})
		}
		from = to
	}
	if n < 2 || len(d.messages)-n+1 > 2*most && n < len(d.messages)/4 { // the line takes one's place
		return nil // it would change a little before each call
	}
	left := n - lines + before
	line := llm.Message{
		Role: llm.RoleUser, Parts: llm.Say(fmt.Sprintf(leftOut, left)), Extra: map[string]any{rewrittenMember: Drop, messagesMember: left},
	}
	w := &agent.Rewriting{Policy: Drop}
	for _, g := range gone {
		w.Edits = append(w.Edits, agent.Edit{From: g[0], To: g[1]})
	}
	w.Edits[0].Messages = []llm.Message{line}
	return w
}

// stepEnd returns the end of the step that begins with a message. The observations of a
// reply's actions belong to its step.
func (d *draft) stepEnd(from int) int {
	to := from + 1
	if d.messages[from].Role != llm.RoleAssistant {
		return to
	}
	for to < len(d.messages) && (d.messages[to].Role == llm.RoleTool || isObservation(d.messages[to])) {
		to++
	}
	return to
}

// isLine reports whether a message stands for steps that were left out.
func isLine(m llm.Message) bool { return m.Role == llm.RoleUser && m.Extra[messagesMember] != nil }
