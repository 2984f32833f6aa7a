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

// Script answers each instance of a dataset from replies of its own, so that a sweep does the
// same over HTTP as without it. The place in a conversation is read from the request: a
// resumed conversation, and a server that was started again, continue where it is. It is
// safe for concurrent use.
type Script struct {
	Replies scripted.Script
	Config  scripted.Config

	// Rows identify the instance of a conversation: its Statement is in the user's first
	// message.
	Rows []Row

	// ID, when not nil, finds the id of the instance in the user's first message instead,
	// by its first group or as a whole.
	ID *regexp.Regexp

	once sync.Once
	rows []Row    // the longest statement first: one may be in another
	ids  sync.Map // task -> id
}

// Row is an instance.
type Row struct{ ID, Statement string }

// Next answers as [Handler.Next] does. A conversation without a reply left is refused by
// a 400 that says so.
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

// skipHeard skips the replies that the conversation has had. One without a command is not
// in it, but what the user said of it is. A reply with a command that is not in it was
// spoiled on its way, as by [Odds], and is due again.
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

// userTexts returns how many texts of the user are in a message, those in a tool's result included.
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
	if a.Usage == (vocab.Usage{}) { // as a real conversation would count
		a.Usage = vocab.Usage{Input: int64(len(r.Body) / 4), Output: int64(len(resp.Message.Text())/4 + 20)}
	}
	if resp.Cost > 0 {
		a.Cost = &resp.Cost
	}
	if r.Protocol == Chat && resp.Message.Chat != nil {
		_ = json.Unmarshal(resp.Message.Chat, &a.Message) // a recorded message is sent as it was
	}
	return a
}

// Instance returns the id of the instance that a conversation is of; "" if none is found.
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
