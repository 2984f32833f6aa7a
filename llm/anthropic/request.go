package anthropic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"batch.example/batch/llm"
	"batch.example/batch/llm/internal/history"
)

// request writes req as JSON. Everything before the closing brackets is kept for the conversation's next
// request, so that only new messages are encoded.
func (m *Model) request(req *llm.Request) (history.Body, error) {
	messages := trimmed(req.Messages)
	d, err := m.draft(req, messages)
	if err != nil {
		return nil, err
	}
	if err := d.hold(messages); err != nil {
		if req.Memo != nil {
			req.Memo.Kept = nil
		}
		return nil, err
	}
	var b history.Body
	at := 0
	for _, mark := range d.marks() {
		b = append(b, d.text[at:mark], m.settings.mark)
		at = mark
	}
	return append(b, d.text[at:], []byte("]}")), nil
}

// trimmed returns messages without trailing white space in a last assistant's message, which the API refuses.
func trimmed(messages []llm.Message) []llm.Message {
	last := len(messages) - 1
	if last < 0 || messages[last].Role != llm.RoleAssistant || len(messages[last].Parts) == 0 {
		return messages
	}
	parts := messages[last].Parts
	text, ok := parts[len(parts)-1].(llm.Text)
	if cut := strings.TrimRightFunc(text.Text, unicode.IsSpace); ok && cut != text.Text {
		messages, parts = slices.Clone(messages), slices.Clone(parts)
		text.Text = cut
		parts[len(parts)-1] = text
		messages[last].Parts = parts
	}
	return messages
}

// draft is a request up to the end of its messages. Earlier requests made from it may still be read, so bytes
// in text never change.
type draft struct {
	model    *Model
	tools    []llm.Tool
	messages []llm.Message
	lead     int // number of system messages, which are in the head
	groups   []group
	text     []byte
}

// group is a message of the API: consecutive messages of one side.
type group struct {
	role  string
	first int // number of its first message
	start int // its position in text
	mark  int // position in text of the mark on its last block; 0 without a mark
}

// draft returns the kept draft of req's conversation if it matches, otherwise a new one.
func (m *Model) draft(req *llm.Request, messages []llm.Message) (*draft, error) {
	lead := 0
	for lead < len(messages) && messages[lead].Role == llm.RoleSystem {
		lead++
	}
	if req.Memo != nil {
		d, ok := req.Memo.Kept.(*draft)
		if ok && d.model == m && history.Same(d.tools, req.Tools) && d.lead == lead && slices.EqualFunc(d.messages[:lead], messages[:lead], history.Unchanged) {
			return d, nil
		}
	}
	head, err := m.head(req.Tools, messages[:lead])
	if err != nil {
		return nil, err
	}
	d := &draft{model: m, tools: req.Tools, messages: slices.Clone(messages[:lead]), lead: lead, text: head}
	if req.Memo != nil {
		req.Memo.Kept = d
	}
	return d, nil
}

// head writes a request up to its messages.
func (m *Model) head(tools []llm.Tool, system []llm.Message) ([]byte, error) {
	members := maps.Clone(m.settings.body)
	var prompt, offered [][]byte
	for _, msg := range system {
		_, list, err := blocks(msg)
		if err != nil {
			return nil, err
		}
		for _, b := range list {
			prompt = append(prompt, b.text)
		}
	}
	for _, t := range tools {
		schema := t.Parameters
		if schema == nil {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		text, err := history.Encode(wireTool{t.Name, t.Description, schema})
		if err != nil {
			return nil, fmt.Errorf("tool %q: %w", t.Name, err)
		}
		offered = append(offered, text)
	}
	if prompt != nil {
		m.markLast(prompt)
	} else {
		m.markLast(offered)
	}
	if offered == nil {
		for _, name := range m.settings.tools {
			delete(members, name)
		}
	}
	text, err := history.Encode(members)
	if err != nil {
		return nil, err
	}
	head := object{text: text[:len(text)-len("}")]}
	if offered != nil {
		head = head.with("tools", array(offered))
	}
	if prompt != nil {
		head = head.with("system", array(prompt))
	}
	return head.with("messages", []byte("[")).text, nil
}

// markLast makes the last block of a list a cache breakpoint.
func (m *Model) markLast(list [][]byte) {
	if last := len(list) - 1; last >= 0 && m.settings.mark != nil {
		list[last] = slices.Concat(list[last][:len(list[last])-1], m.settings.mark, []byte("}"))
	}
}

type wireTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"input_schema"`
}

// hold updates the draft to messages.
func (d *draft) hold(messages []llm.Message) error {
	known := history.Shared(d.messages, messages) // the lead at least, see Model.draft
	for len(d.messages) > known {
		d.pop()
	}
	var now run
	for i := len(d.messages); i < len(messages); i++ {
		role, list, err := blocks(messages[i])
		if err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		if last := len(d.groups) - 1; len(list) > 0 && now.list == nil && last >= 0 && d.groups[last].role == role {
			i = d.pop() - 1 // the last group continues, and its results must come first
			continue
		}
		if len(list) > 0 && role != now.role {
			d.write(now)
			now = run{role: role, first: i}
		}
		now.list = append(now.list, list...)
		d.messages = append(d.messages, messages[i])
	}
	d.write(now)
	return nil
}

// run is a group that is not written yet.
type run struct {
	role  string
	first int
	list  []block
}

// pop removes the last group, and returns the number of its first message.
func (d *draft) pop() int {
	g := group{first: d.lead, start: len(d.text)} // the group of messages without a block
	if last := len(d.groups) - 1; last >= 0 {
		g, d.groups = d.groups[last], d.groups[:last]
	}
	d.messages, d.text = d.messages[:g.first], slices.Clone(d.text[:g.start])
	return g.first
}

// write appends a group to the draft.
func (d *draft) write(r run) {
	if r.list == nil {
		return
	}
	g := group{role: r.role, first: r.first, start: len(d.text)}
	if len(d.groups) > 0 {
		d.text = append(d.text, ',')
	}
	d.text = append(append(append(d.text, `{"role":"`...), r.role...), `","content":[`...)
	slices.SortStableFunc(r.list, func(a, b block) int { return cmp.Compare(order(a), order(b)) })
	for i, b := range r.list {
		if i > 0 {
			d.text = append(d.text, ',')
		}
		d.text = append(d.text, b.text...)
		if b.marks {
			g.mark = len(d.text) - len("}")
		}
	}
	d.text = append(d.text, "]}"...)
	d.groups = append(d.groups, g)
}

func order(b block) int {
	if b.result {
		return 0
	}
	return 1
}

// marks returns the places of breakpoints in text: the end of the conversation, and the place before the last
// answer, where the previous request ended.
func (d *draft) marks() (at []int) {
	last := len(d.groups) - 1
	if d.model.settings.mark == nil || last < 0 {
		return nil
	}
	before := last - 1
	for before >= 0 && d.groups[before].role != llm.RoleAssistant {
		before--
	}
	if d.groups[last].role == llm.RoleAssistant {
		before = last
	}
	for _, i := range []int{before - 1, last} {
		if i >= 0 && d.groups[i].mark > 0 {
			at = append(at, d.groups[i].mark)
		}
	}
	return at
}
