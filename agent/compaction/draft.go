package compaction

import (
	"fmt"
	"slices"

	"batch.example/batch/agent"
	"batch.example/batch/llm"
)

// draft is a rewriting in the making.
type draft struct {
	messages  []llm.Message // as they are
	size      func(llm.Message) int64
	from, to  int   // the messages between may be rewritten
	tokens    int64 // of the request, with what is replaced
	most, aim int64 // see Policy.goal
	refused   bool
	replaced  map[int]llm.Message // by index
}

func (p *Policy) draft(c agent.Conversation) *draft {
	d := &draft{messages: c.Messages, size: c.Size, tokens: c.Tokens, refused: c.Refused, replaced: map[int]llm.Message{}}
	d.most, d.aim = p.goal(c)
	d.from, d.to = span(c.Messages, p.keep)
	return d
}

// span returns the part of a conversation that may be rewritten.
func span(messages []llm.Message, keep int) (from, to int) {
	for from < len(messages) && messages[from].Role == llm.RoleSystem {
		from++
	}
	if from < len(messages) && messages[from].Role == llm.RoleUser {
		from++
	}
	to = len(messages) - max(1, keep)
	for to > from && messages[to].Role == llm.RoleTool {
		to-- // its call is kept too
	}
	return from, max(from, to)
}

// at is a message as the draft has it.
func (d *draft) at(i int) llm.Message {
	if m, ok := d.replaced[i]; ok {
		return m
	}
	return d.messages[i]
}

// replace puts a message in place of another one, if it is shorter.
func (d *draft) replace(i int, m llm.Message) {
	if less := d.size(d.at(i)) - d.size(m); less > 0 {
		d.replaced[i], d.tokens = m, d.tokens-less
	}
}

// rewriting returns the edits; nil if there are none, or they do not make the request short
// enough.
func (d *draft) rewriting(policy string) *agent.Rewriting {
	if d.tokens > d.most || len(d.replaced) == 0 {
		return nil
	}
	w := &agent.Rewriting{Policy: policy}
	for i := d.from; i < d.to; i++ {
		if m, ok := d.replaced[i]; ok {
			w.Edits = append(w.Edits, agent.Edit{From: i, To: i + 1, Messages: []llm.Message{m}})
		}
	}
	return w
}

// drop replaces observations by a line, the oldest first.
func (d *draft) drop() { d.cut(0) }

// shorten cuts observations, the oldest first, and if that is not enough all of them again,
// more of each.
func (d *draft) shorten() {
	for i, edge := range edges {
		if d.refused && i == 0 {
			continue
		}
		d.cut(edge)
	}
}

// edges has, for each further attempt to shorten, the number of characters that are left of an
// observation's beginning and of its end.
var edges = []int{500, 100, 0}

// cut cuts observations until the request is as short as it should be.
func (d *draft) cut(edge int) {
	for i := d.from; i < d.to && d.tokens > d.aim; i++ {
		if m := d.at(i); isObservation(m) {
			d.replace(i, cutTo(m, edge))
		}
	}
}

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
