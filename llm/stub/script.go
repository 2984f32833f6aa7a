package stub

import (
	"cmp"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/scripted"
	"batch.example/batch/vocab"
)

// Script answers each instance of a dataset from its own replies, so that a sweep gives the same results over
// HTTP as without it. The request shows the place in a conversation, so that resumed conversations and
// restarted servers continue there. It is safe for concurrent use.
type Script struct {
	Replies scripted.Script
	Config  scripted.Config

	// Rows identify the instance of a conversation: the user's first message contains its Statement.
	Rows []Row

	// ID, when not nil, is used instead: its first group, or the whole match, in the user's first message is
	// the id of the instance.
	ID *regexp.Regexp

	once sync.Once
	rows []Row    // the longest statement first, because one may contain another
	ids  sync.Map // task -> id
}

// Row is an instance.
type Row struct{ ID, Statement string }

// Next answers like [Handler.Next]. If a conversation has no reply left, it returns a 400 with the reason.
func (s *Script) Next(_ int, r *Request) Answer {
	m := s.Replies.Model(cmp.Or(s.Instance(r), scripted.Anyone), s.Config)
	skipHeard(m, r)
	req := &llm.Request{}
	for _, t := range r.Tools {
		req.Tools = append(req.Tools, llm.Tool{Name: t.Function.Name})
	}
	resp, err := m.Generate(r.Context(), req)
	switch {
	case fault.Canceled(err):
		return Answer{Fault: Hangup}
	case err != nil:
		return Refusal(http.StatusBadRequest, "no_reply", err.Error())
	}
	return s.answer(r, resp)
}

// skipHeard skips the replies that the conversation already had. A reply without a command is not in it, but
// the user's text about it is. A reply whose command is missing was spoiled on its way, for example by
// [Odds], and is due again.
func skipHeard(m *scripted.Model, r *Request) {
	expected := 1 // texts of the user: the task, then the output of a command in a text
	for _, t := range r.Turns() {
		switch t.Role {
		case llm.RoleAssistant:
			m.Skip(1)
			expected = 1
			if len(t.ToolCalls()) > 0 {
				expected = 0
			}
		case llm.RoleUser, llm.RoleTool:
			for range userTexts(t) {
				if expected--; expected < 0 && !m.Acts(len(r.Tools) > 0) {
					m.Skip(1)
				}
			}
		}
	}
}

// userTexts returns the number of the user's texts in a message, including those in tool results.
func userTexts(t llm.Message) (n int) {
	for _, p := range t.Parts {
		if _, ok := p.(llm.Text); ok {
			n++
		}
	}
	return n + strings.Count(t.Text(), llm.Between)
}

func (s *Script) answer(r *Request, resp *llm.Response) Answer {
	a := Answer{
		Parts: resp.Message.Parts, Usage: resp.Usage, Model: r.Model,
		FinishReason: resp.FinishReason,
	}
	if a.Parts == nil {
		a.Parts = []llm.Part{}
	}
	if a.Usage == (vocab.Usage{}) { // counts like those of a real conversation
		a.Usage = vocab.Usage{Input: int64(len(r.Body) / 4), Output: int64(len(resp.Message.Text())/4 + 20)}
	}
	if resp.Cost > 0 {
		a.Cost = &resp.Cost
	}
	if r.Protocol == Chat && resp.Message.Chat != nil {
		_ = json.Unmarshal(resp.Message.Chat, &a.Message) // a recorded message is sent unchanged
	}
	return a
}

// Instance returns the id of a conversation's instance; "" if none is found.
func (s *Script) Instance(r *Request) string {
	task := r.Task()
	if s.ID != nil {
		found := s.ID.FindStringSubmatch(task)
		if len(found) == 0 {
			return ""
		}
		return found[min(1, len(found)-1)]
	}
	if id, ok := s.ids.Load(task); ok {
		return id.(string)
	}
	s.once.Do(func() {
		s.rows = slices.Clone(s.Rows)
		slices.SortStableFunc(s.rows, func(a, b Row) int { return cmp.Compare(len(b.Statement), len(a.Statement)) })
	})
	id := ""
	for _, row := range s.rows {
		if statement := strings.TrimSpace(row.Statement); statement != "" && strings.Contains(task, statement) {
			id = row.ID
			break
		}
	}
	s.ids.Store(task, id)
	return id
}
