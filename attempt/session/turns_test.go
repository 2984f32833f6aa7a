package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"batch.example/batch/agent"
	"batch.example/batch/attempt/session"
	"batch.example/batch/journal"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// scene is a session in files that is closed and opened again between its turns, with a
// model and an environment that remember what was asked of them.
type scene struct {
	*testing.T
	dir    string
	form   agent.ActionForm
	config session.Config // all but ContextID, Store and Loop
	limit  float64        // agent.cost_limit
	now    time.Time
	model  *replies
	env    *commands
	store  *journal.Writer // the open one
}

func newScene(t *testing.T, form agent.ActionForm, answers ...llm.Message) *scene {
	return &scene{
		T: t, dir: t.TempDir(), form: form, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		model: &replies{answers: answers}, env: &commands{},
	}
}

func (k *scene) loop() *agent.Loop {
	k.Helper()
	l, err := agent.NewLoop(agent.Config{
		SystemTemplate: "You are an agent.", InstanceTemplate: "Task: {{ task }}", ObservationTemplate: "{{ output.output }}",
		FinishWithoutCalls: k.form.Kind != agent.Text, Actions: k.form, Now: func() time.Time { return k.now },
		Limits: vocab.Limits{Cost: k.limit},
	})
	if err != nil {
		k.Fatal(err)
	}
	return l
}

// open opens the session as another process would.
func (k *scene) open() *session.Session {
	k.Helper()
	store, err := openIn(k.dir, "context")
	if err != nil {
		k.Fatal(err)
	}
	c := k.config
	c.ContextID, c.Store, c.Loop, c.Now = "context", store, k.loop(), func() time.Time { return k.now }
	k.store = store
	s := session.New(c)
	if err := s.Start(k.Context()); err != nil {
		k.Fatal(err)
	}
	return s
}

// with calls do with the session, and closes it.
func (k *scene) with(do func(s *session.Session)) {
	k.Helper()
	s := k.open()
	do(s)
	if err := errors.Join(s.Shutdown(k.Context()), k.store.Close()); err != nil {
		k.Fatal(err)
	}
}

func (k *scene) input(words string) session.Input {
	return session.Input{Words: words, Model: k.model, Env: k.env}
}

// say has a turn that must succeed, in a session that is opened for it. It returns its
// events.
func (k *scene) say(in session.Input) (events []agent.Event) {
	k.Helper()
	in.Listen = append(in.Listen, func(e agent.Event) { events = append(events, e) })
	k.with(func(s *session.Session) {
		if _, err := s.Turn(k.Context(), in); err != nil {
			k.Fatal(err)
		}
	})
	return events
}

// stored are all messages of the session.
func (k *scene) stored() (list []session.Message) {
	k.Helper()
	k.with(func(s *session.Session) {
		var err error
		if list, err = s.Messages(k.Context(), session.Query{}); err != nil {
			k.Fatal(err)
		}
	})
	return list
}

// replies is a model that chooses its reply by the number of replies so far: a conversation
// that is sent again gets the same one.
type replies struct {
	answers []llm.Message
	before  func(n int) error // called before each; nil: nothing
	unknown bool              // what replies cost

	mu     sync.Mutex
	asked  []string // requests for steps, as a provider would see them
	number int
}

// Generate implements [llm.Model].
func (m *replies) Generate(_ context.Context, req *llm.Request) (*llm.Response, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, shown(req.Messages))
	if m.before != nil {
		if err := m.before(len(m.asked)); err != nil {
			return nil, err
		}
	}
	m.number++
	return m.priced(reply(m.answers[m.number-1])), nil
}

// priced returns the response with its cost, or without one.
func (m *replies) priced(res *llm.Response) *llm.Response {
	if m.unknown {
		res.Cost, res.Priced = 0, false
	}
	return res
}

func reply(m llm.Message) *llm.Response {
	m.Role = llm.RoleAssistant
	return &llm.Response{Message: m, Cost: 1, Priced: true, Model: "stub-1", FinishReason: "stop"}
}

// shown is a conversation as a provider sees it.
func shown(messages []llm.Message) string {
	messages = slices.Clone(messages)
	for i := range messages {
		messages[i].Extra = nil
	}
	text, err := json.Marshal(messages)
	if err != nil {
		panic(err) // of messages that were read
	}
	return string(text)
}

// commands is an environment.
type commands struct {
	after func(command string) // nil: nothing
	mu    sync.Mutex
	ran   []string
}

// Execute implements [session.Environment]. An echo prints its words; another command, its
// own text many times.
func (c *commands) Execute(_ context.Context, _, command string) (vocab.Output, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ran = append(c.ran, command)
	out, echoes := strings.CutPrefix(command, "echo ")
	if !echoes {
		out = strings.Repeat("output of "+command+"\n", 50)
	}
	if c.after != nil {
		c.after(command)
	}
	return vocab.Output{Bytes: []byte(out), Total: int64(len(out))}, nil
}

// Vars implements [session.Environment].
func (*commands) Vars() map[string]any { return nil }

// tools is the form of an agent with the tools bash and ask.
func tools() agent.ActionForm {
	return agent.ActionForm{Kind: agent.Tools, Tools: []agent.Tool{agent.BashTool(), agent.AskTool()}}
}

func says(text string) llm.Message { return llm.Message{Parts: llm.Say(text)} }

var callNumber int

func calls(tool, argument, value string) llm.Message {
	callNumber++
	args, err := json.Marshal(map[string]string{argument: value})
	if err != nil {
		panic(err) // of strings
	}
	return llm.Message{Parts: llm.Say("", llm.ToolCall{ID: fmt.Sprint("call", callNumber), Name: tool, Arguments: string(args)})}
}

func runs(command string) llm.Message { return calls("bash", "command", command) }
