package session_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

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
		StepLimit: 4, FinishWithoutCalls: true,
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
		if msg.Role == llm.RoleAssistant || strings.HasPrefix(msg.Text(), wrongForm) {
			said++
		}
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

// serve answers requests over HTTP until the test ends.
func (m *model) serve(t *testing.T) (url string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var messages []llm.Message
		text, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(text, &messages)
		}
		var res *llm.Response
		if err == nil {
			res, err = m.answer(string(text), messages)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(w).Encode(res.Message) // the client reports it
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// remoteModel asks a model of another process.
type remoteModel struct {
	url string
	at  func() // called before each call
}

// Generate implements [llm.Model].
func (m remoteModel) Generate(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	m.at()
	text, err := requestText(req.Messages)
	if err != nil {
		return nil, err
	}
	res, err := http.Post(m.url, "application/json", strings.NewReader(text))
	if err != nil {
		return nil, fault.New(fault.Transient, "asking the stub", err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = errors.New(string(body))
	}
	if err != nil {
		return nil, fault.New(fault.Instance, "asking the stub", err)
	}
	answer := answer{}.response()
	answer.Message = llm.Message{}
	return answer, json.Unmarshal(body, &answer.Message)
}

// folderEnv is an environment that writes a file in a folder for each action, so that other
// processes know what has run.
type folderEnv struct {
	dir string
	at  func() // called before and after each action
}

const (
	calledFile = "called" // a line for each call of Execute
	ranFile    = "ran"    // a line for each action that ran
)

// Execute implements [session.Environment].
func (e folderEnv) Execute(_ context.Context, id, command string) (vocab.Output, error) {
	e.at()
	if id == "" {
		return vocab.Output{}, fault.Newf(fault.Bug, "the action %q has no id", command)
	}
	line := fmt.Sprintf("%s %q\n", id, command)
	if err := addTo(filepath.Join(e.dir, calledFile), line); err != nil {
		return vocab.Output{}, err
	}
	known, err := os.OpenFile(filepath.Join(e.dir, "action-"+id), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err == nil {
		err = errors.Join(known.Close(), addTo(filepath.Join(e.dir, ranFile), line))
	} else if errors.Is(err, os.ErrExist) {
		err = nil
	}
	if err != nil {
		return vocab.Output{}, err
	}
	e.at()
	return outputOf(command), nil
}

// Vars implements [session.Environment].
func (folderEnv) Vars() map[string]any { return nil }

func addTo(path, line string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line)
	return errors.Join(err, f.Close())
}

// linesOf returns the lines of a file; none if it is missing.
func linesOf(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")[:bytes.Count(text, []byte("\n"))]
}

// outputOf returns the output of a command. One that begins with "submit" submits the rest.
func outputOf(command string) vocab.Output {
	text := "did " + command
	if patch, ok := strings.CutPrefix(command, "submit "); ok {
		text = vocab.Marker + "\n" + patch
	}
	return vocab.Output{Bytes: []byte(text), Total: int64(len(text))}
}
