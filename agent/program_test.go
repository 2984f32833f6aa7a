package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// scriptedProgram is a program that makes calls in order, and what it was told of them.
type scriptedProgram struct {
	calls []ProgramCall
	end   error
	task  string
	told  []error
	most  []int64
}

func (p *scriptedProgram) Start(_ context.Context, task string) error {
	p.task = task
	return nil
}

func (p *scriptedProgram) Next(ctx context.Context) (*ProgramCall, error) {
	if len(p.calls) == 0 {
		return nil, p.end
	}
	c := p.calls[0]
	p.calls = p.calls[1:]
	c.Relay = &llm.Relay{Body: []byte("{}")}
	if c.Begun == nil {
		c.Begun = func() bool { return false }
	}
	c.End = func(err error) { p.told = append(p.told, err) }
	c.Lower = func(most int64) { p.most = append(p.most, most) }
	return &c, ctx.Err()
}

// answering answers each call with its number, for a price.
type answering struct {
	calls int
	fails map[int]error // by call
}

func (m *answering) Generate(_ context.Context, req *llm.Request) (*llm.Response, error) {
	m.calls++
	if req.Relay == nil {
		return nil, errors.New("the call is not the program's")
	}
	if err := m.fails[m.calls]; err != nil {
		return nil, err
	}
	return &llm.Response{
		Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: fmt.Sprint("answer ", m.calls)}}},
		Cost:    0.01, Priced: true, FinishReason: "end_turn",
	}, nil
}

func said(role, text string) llm.Message { return llm.Message{Role: role, Parts: llm.Say(text)} }

func texts(messages []llm.Message) (list []string) {
	for _, m := range messages {
		list = append(list, m.Role+": "+m.Text())
	}
	return list
}

// events records the types of a run's events and its rewritings.
type events struct {
	types    []EventType
	rewrites []Rewritten
}

func (e *events) Record(_ context.Context, ev Event) error {
	e.types = append(e.types, ev.Type)
	if ev.Rewritten != nil {
		e.rewrites = append(e.rewrites, *ev.Rewritten)
	}
	return nil
}

func runProgram(t *testing.T, p *scriptedProgram, m *answering, change func(*Config, *Turn)) (*Ending, *events, error) {
	t.Helper()
	rec := &events{}
	turn := Turn{Task: "the task", Program: p, Model: m, Env: &env{}, Recorder: rec}
	loop := newLoop(t, func(c *Config) {
		c.InstanceTemplate = "Do {{ task }}"
		if change != nil {
			change(c, &turn)
		}
	})
	end, err := loop.Run(t.Context(), turn)
	return end, rec, err
}

// A program's conversation becomes the run's: what is new in a request is added, what the program has changed is
// a rewriting, and a call beside it is paid and no step.
func TestAProgramsConversationIsFollowed(t *testing.T) {
	begin := []llm.Message{said(llm.RoleSystem, "s"), said(llm.RoleUser, "u")}
	p := &scriptedProgram{end: &ProgramEnd{Patch: []byte("diff")}, calls: []ProgramCall{
		{Messages: []llm.Message{said(llm.RoleUser, "a title")}, Helper: true},
		{Messages: begin},
		{Messages: append(slices.Clone(begin), said(llm.RoleAssistant, " answer 2\n"), said(llm.RoleUser, "result"))},
		{Messages: []llm.Message{said(llm.RoleSystem, "another agent"), said(llm.RoleUser, "look")}},
		{Messages: []llm.Message{begin[0], said(llm.RoleUser, "a summary")}},
	}}
	end, rec, err := runProgram(t, p, &answering{}, nil)
	if err != nil || end.Status != vocab.StatusSubmitted || string(end.Submission) != "diff" || end.Calls != 3 || fmt.Sprintf("%.2f", end.Cost) != "0.05" {
		t.Errorf("%+v, %v", end, err)
	}
	if p.task != "Do the task" {
		t.Errorf("its task is %q", p.task)
	}
	// A rewriting replaces what is sent; the conversation that is kept stays.
	want := []string{"system: s", "user: u", "assistant: answer 2", "user: result", "assistant: answer 3", "assistant: answer 5", "exit: diff"}
	if got := texts(end.Messages); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if len(rec.rewrites) != 1 || rec.rewrites[0].Edits[0].From != 1 || rec.rewrites[0].Edits[0].To != 5 || len(rec.rewrites[0].Edits[0].Messages) != 1 {
		t.Errorf("rewritten: %+v", rec.rewrites)
	}
	if want := []EventType{
		EventProbe, EventProbed, EventMessages, EventRequest, EventReply, EventMessages, EventMessages, EventRequest, EventReply, EventMessages,
		EventProbe, EventProbed, EventRewrite, EventRequest, EventReply, EventMessages, EventInterrupt, EventMessages, EventEnd,
	}; !slices.Equal(rec.types, want) {
		t.Errorf("events %v, want %v", rec.types, want)
	}
	if want := []error{nil, nil, nil, nil, nil}; !slices.Equal(p.told, want) {
		t.Errorf("it was told %v", p.told)
	}
}

// A refusal of what the program asks for is the program's; a failure of the provider ends the run.
func TestARefusalIsTheProgramsAndAFailureIsNot(t *testing.T) {
	begin := []llm.Message{said(llm.RoleUser, "u")}
	refusal := fault.New(fault.Instance, "asking", llm.ErrContextLength)
	failure := fault.Newf(fault.Transient, "giving up")
	p := &scriptedProgram{end: &ProgramEnd{}, calls: []ProgramCall{{Messages: begin}, {Messages: begin}, {Messages: begin}}}
	end, _, err := runProgram(t, p, &answering{fails: map[int]error{1: refusal, 3: failure}}, nil)
	if !errors.Is(err, failure) || end.Calls != 1 {
		t.Errorf("%+v, %v", end, err)
	}
	if len(p.told) != 3 || !errors.Is(p.told[0], refusal) || p.told[1] != nil || !errors.Is(p.told[2], failure) {
		t.Errorf("it was told %v", p.told)
	}
}

func TestLimitsOfAProgram(t *testing.T) {
	call := ProgramCall{Messages: []llm.Message{said(llm.RoleUser, "u")}, Output: 10_000}
	helper := ProgramCall{Messages: call.Messages, Helper: true}
	dear := &vocab.Price{Rates: vocab.Rates{Input: 1e-6, Output: 1e-5}} // 10,000 tokens of an answer: 0.1
	for name, tt := range map[string]struct {
		calls  []ProgramCall
		change func(*Config, *Turn)
		made   int
		most   []int64
	}{
		"steps":   {[]ProgramCall{call, call, call}, func(c *Config, _ *Turn) { c.Limits.Steps = 2 }, 2, nil},
		"helpers": {slices.Repeat([]ProgramCall{helper}, 9), func(c *Config, _ *Turn) { c.Limits.Steps = 2 }, 6, nil},
		// 0.06 leave 5,999 tokens; then 0.05, 4,999; then 0.04 are too few.
		"cost":            {[]ProgramCall{call, call, call}, func(c *Config, turn *Turn) { c.Limits.Cost, turn.Price = 0.06, dear }, 2, []int64{5999, 4999}},
		"an unsaid limit": {[]ProgramCall{helper, helper}, func(c *Config, turn *Turn) { c.Limits.Cost, turn.Price = 0.3, dear }, 2, []int64{29999, 28999}},
		"a short answer": {
			[]ProgramCall{{Messages: call.Messages, Output: 100}, {Messages: call.Messages, Output: 100}},
			func(c *Config, turn *Turn) { c.Limits.Cost, turn.Price = 0.0105, dear }, 1, nil,
		},
		"a price that is not known": {[]ProgramCall{call, call, call}, func(c *Config, _ *Turn) { c.Limits.Cost = 0.015 }, 2, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p, m := &scriptedProgram{calls: tt.calls, end: errors.New("it has ended")}, &answering{}
			end, _, err := runProgram(t, p, m, tt.change)
			if err != nil && !strings.Contains(err.Error(), "it has ended") || m.calls != tt.made || !slices.Equal(p.most, tt.most) {
				t.Errorf("%d calls, want %d; answers of at most %v tokens, want %v; %s, %v", m.calls, tt.made, p.most, tt.most, end.Status, err)
			}
			last := p.told[len(p.told)-1]
			if stop, limit := errors.AsType[*Interrupt](last); tt.made < len(tt.calls) && (!limit || stop.Name != vocab.StatusLimitsExceeded) {
				t.Errorf("it was told %v", last)
			}
		})
	}
}

func TestEndsOfAProgram(t *testing.T) {
	call := ProgramCall{Messages: []llm.Message{said(llm.RoleUser, "u")}}
	gone := fault.Newf(fault.Transient, "the container is gone")
	for name, tt := range map[string]struct {
		calls  []ProgramCall
		end    error
		status vocab.Status
	}{
		"well":             {[]ProgramCall{call}, &ProgramEnd{}, vocab.StatusSubmitted},
		"badly":            {[]ProgramCall{call}, &ProgramEnd{Failed: "exit code 1"}, vocab.StatusProgramFailed},
		"before a call":    {nil, &ProgramEnd{Failed: "exit code 127"}, vocab.StatusTransientFault},
		"with the machine": {[]ProgramCall{call}, gone, vocab.StatusTransientFault},
	} {
		t.Run(name, func(t *testing.T) {
			end, _, _ := runProgram(t, &scriptedProgram{calls: tt.calls, end: tt.end}, &answering{}, nil)
			if end.Status != tt.status || end.Submitted != (name == "well") {
				t.Errorf("%+v", end)
			}
		})
	}
}

// A reply that was paid when the process was killed is counted once, and is in the conversation.
func TestAProgramsReplyIsCountedOnce(t *testing.T) {
	begin := []llm.Message{said(llm.RoleUser, "u")}
	p := &scriptedProgram{end: &ProgramEnd{}, calls: []ProgramCall{
		{Messages: append(slices.Clone(begin), said(llm.RoleAssistant, "known"), said(llm.RoleUser, "next"))},
	}}
	end, rec, err := runProgram(t, p, &answering{}, func(_ *Config, turn *Turn) {
		turn.Messages = begin
		turn.Unfinished = &Unfinished{Reply: &llm.Response{Message: said(llm.RoleAssistant, "known"), Cost: 1, Priced: true}}
	})
	if err != nil || end.Calls != 2 || fmt.Sprintf("%.2f", end.Cost) != "1.01" || len(rec.rewrites) > 0 {
		t.Errorf("%+v, %v, %+v", end, err, rec.rewrites)
	}
	if want := []string{"user: u", "assistant: known", "user: next", "assistant: answer 1", "exit: "}; !slices.Equal(texts(end.Messages), want) {
		t.Errorf("%q", texts(end.Messages))
	}
}

func TestWhatAReplyAsksAProgramToDo(t *testing.T) {
	m := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
		llm.ToolCall{ID: "1", Name: "Bash", Arguments: `{"command":"ls","timeout":1}`},
		llm.ToolCall{ID: "2", Name: "Edit", Arguments: `{"file":"a"}`},
		llm.ToolCall{ID: "3", Name: "Odd", Arguments: `[1`},
	}}
	got := fmt.Sprint(actionsOf(m))
	if want := "[{<nil> ls  1} {map[file:a]  Edit 2} {map[]  Odd 3}]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A program that changes its first message with each call, as by a reminder of the time, and an old result once:
// the record grows by what has changed, and the results of its tools stay in the conversation that is kept.
func TestARecordGrowsByWhatAProgramChanges(t *testing.T) {
	const steps, size = 200, 1000
	p := &scriptedProgram{end: &ProgramEnd{}}
	history := []llm.Message{said(llm.RoleSystem, "s"), said(llm.RoleUser, "")}
	for n := range steps {
		history = slices.Clone(history)
		history[1] = said(llm.RoleUser, fmt.Sprintf("u <system-reminder>%d</system-reminder>", n))
		p.calls = append(p.calls, ProgramCall{Messages: history})
		history = append(history, said(llm.RoleAssistant, fmt.Sprint("answer ", n+1)), said(llm.RoleUser, fmt.Sprint(n, strings.Repeat(" result", size/7))))
	}
	end, rec, err := runProgram(t, p, &answering{}, nil)
	if err != nil || end.Calls != steps {
		t.Errorf("%d calls, %v", end.Calls, err)
	}
	rewritten := 0
	for _, w := range rec.rewrites {
		for _, e := range w.Edits {
			for _, m := range e.Messages {
				rewritten += len(m.Text())
			}
		}
	}
	if want := steps * 100; rewritten > want {
		t.Errorf("%d bytes were recorded as changed, want at most %d", rewritten, want)
	}
	if got := len(texts(end.Messages)); got != 2*steps+2 {
		t.Errorf("%d messages are kept, want %d", got, 2*steps+2)
	}
}
