package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"batch.example/batch/agent"
	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// newLoop returns an agent with the tools bash and ask. Its turns may have three calls, and
// end with a reply that calls nothing.
func newLoop() (*agent.Loop, error) {
	return agent.NewLoop(agent.Config{
		SystemTemplate: "You are an agent.", InstanceTemplate: "{{ task }}",
		ObservationTemplate: "{{ output.output }}", FormatErrorTemplate: wrongForm + " {{ error }}",
		Limits: vocab.Limits{Steps: 4}, FinishWithoutCalls: true,
		Actions: agent.ActionForm{Kind: agent.Tools, Tools: []agent.Tool{agent.BashTool(), agent.AskTool()}},
	})
}

const wrongForm = "WRONG FORM:"

// answer is the model's next reply.
type answer struct {
	Text     string
	Calls    []llm.ToolCall
	Filtered bool // by the provider: nothing is left of it
}

func say(text string) answer { return answer{Text: text} }

// bash is a reply that runs commands.
func bash(commands ...string) (r answer) {
	for i, command := range commands {
		args, _ := json.Marshal(map[string]string{"command": command})
		r.Calls = append(r.Calls, llm.ToolCall{ID: fmt.Sprintf("%s-%d", strings.Fields(command)[0], i), Name: "bash", Arguments: string(args)})
	}
	return r
}

func ask(question string) answer {
	args, _ := json.Marshal(map[string]string{"question": question})
	return answer{Calls: []llm.ToolCall{{ID: "ask", Name: "ask", Arguments: string(args)}}}
}

func (r answer) response() *llm.Response {
	res := &llm.Response{
		Message: llm.Message{Role: llm.RoleAssistant, Parts: llm.Say(r.Text, r.Calls...)},
		Cost:    1, Priced: true, Model: "stub-1", FinishReason: "stop", Usage: vocab.Usage{Input: 10, Output: 2},
	}
	if r.Filtered {
		res.FinishReason = "content_filter"
	}
	return res
}

// model answers with its replies in order: how far a conversation is, its messages say.
type model struct {
	replies []answer
	before  func() // called before each call; may be nil

	mu      sync.Mutex
	fails   error    // what the next call fails with
	refuses int      // number of the call from the next list that the provider refuses; 0: none
	listed  []answer // take the place of replies, whatever the messages say
	asked   []string // the requests, in order
}

// list makes the next calls answered with these replies.
func (m *model) list(replies ...answer) { m.listed, m.refuses = replies, 0 }

// Generate implements [llm.Model].
func (m *model) Generate(_ context.Context, req *llm.Request) (*llm.Response, error) {
	if m.before != nil {
		m.before()
	}
	text, err := requestText(req.Messages)
	if err != nil {
		return nil, err
	}
	return m.answer(text, req.Messages)
}

func (m *model) answer(text string, messages []llm.Message) (*llm.Response, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fails; err != nil {
		m.fails = nil
		return nil, err
	}
	m.asked = append(m.asked, text)
	if m.refuses == 1 {
		return nil, fault.New(fault.Instance, "asking the stub", llm.ErrContentPolicy)
	}
	m.refuses--
	if len(m.listed) > 0 {
		next := m.listed[0]
		m.listed = m.listed[1:]
		return next.response(), nil
	}
	said := 0
	for _, msg := range messages {
		if msg.Role == llm.RoleAssistant {
			said++
		}
		said += strings.Count(msg.Text(), wrongForm) // of several in a row, which are one message
	}
	if said >= len(m.replies) {
		return nil, fault.Newf(fault.Instance, "the stub has no reply number %d", said+1)
	}
	return m.replies[said].response(), nil
}

// take returns the requests since the last call.
func (m *model) take() (asked []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	asked, m.asked = m.asked, nil
	return asked
}

// requestText is a request as a provider sees it.
func requestText(messages []llm.Message) (string, error) {
	messages = slices.Clone(messages)
	for i := range messages {
		messages[i].Extra = nil
	}
	text, err := json.Marshal(messages)
	return string(text), err
}

// outputOf returns the output of a command. One that begins with "submit" submits the rest.
func outputOf(command string) vocab.Output {
	text := "did " + command
	if patch, ok := strings.CutPrefix(command, "submit "); ok {
		text = vocab.Marker + "\n" + patch
	}
	return vocab.Output{Bytes: []byte(text), Total: int64(len(text))}
}
