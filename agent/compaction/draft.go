package compaction

import (
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
