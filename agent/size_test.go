package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

func TestARequestIsAsLongAsTheProviderCountedAndWhatWasAddedSince(t *testing.T) {
	const words = 4000 // bytes of an observation
	used := func(r *llm.Response, u vocab.Usage) *llm.Response { r.Usage = u; return r }
	thinks := ask("2", "b")
	thinks.Message.Parts = append([]llm.Part{llm.Reasoning{Text: "hm"}}, thinks.Message.Parts...)
	remembers := ask("3", "c")
	remembers.Message.Chat = json.RawMessage(`{"role":"assistant","reasoning_content":"hm","tool_calls":[{"id":"3","type":"function","function":{"name":"bash","arguments":"{\"command\":\"c\"}"}}]}`)
	m := &script{replies: []*llm.Response{
		used(ask("1", "a"), vocab.Usage{Input: 5000, Output: 300, Reasoning: 200}), // the reasoning is not sent back
		used(thinks, vocab.Usage{Input: 7000, Output: 300, Reasoning: 200}),        // it is
		used(remembers, vocab.Usage{Input: 9000, Output: 300, Reasoning: 200}),     // it is, by the provider's own members
		used(say("nothing"), vocab.Usage{Input: 11_000, Output: 300}),              // it is refused, and not added
		used(ask("5", "e"), vocab.Usage{}),                                         // nothing is counted
		used(ask("6", submit), vocab.Usage{Input: 1, Output: 1}),
	}}
	out := printed(strings.Repeat("x", words))
	e := &env{outputs: map[string]vocab.Output{"a": out, "b": out, "c": out, "e": out, submit: submitting("p")[submit]}}
	var tokens []int64
	j := &journal{}
	turn := Turn{Model: sized{m, &tokens}, Env: e, Recorder: j, ModelFacts: ModelFacts{Window: 77}}
	loop := newLoop(t, func(c *Config) {
		c.ObservationTemplate, c.FormatErrorTemplate = "{{ output.output }}", strings.Repeat("y", 400)
	})
	end, err := loop.Run(t.Context(), turn)
	if err != nil || end.Status != vocab.StatusSubmitted {
		t.Fatalf("got %+v, %v; want status %v, no error", end, err, vocab.StatusSubmitted)
	}
	added := int64(messageTokens + words/bytesPerToken)
	reply := EstimateTokens(ask("5", "e").Message)
	want := []int64{
		tokens[0], 5000 + 100 + added, 7000 + 300 + added, 9000 + 300 + added, 11_000 + messageTokens + 100,
		11_000 + messageTokens + 100 + reply + added,
	}
	if d := cmp.Diff(want, tokens); d != "" || tokens[0] < 20 || tokens[0] > 200 {
		t.Errorf("tokens of the requests (-want +got):\n%s", d)
	}
	var recorded []int64
	for _, e := range j.events {
		if e.Type == EventRequest {
			recorded = append(recorded, e.Tokens)
		}
		if e.Window != 77 {
			t.Errorf("%s has the window %d, want 77", e.Type, e.Window)
		}
	}
	if d := cmp.Diff(tokens, recorded); d != "" {
		t.Errorf("tokens in events (-sent +recorded):\n%s", d)
	}
	// A run that is resumed with what the journal knows estimates the same.
	again := []int64{}
	_, _ = loop.Run(t.Context(), Turn{Model: sized{&script{}, &again}, Env: e, Messages: end.Messages[:4], Tokens: tokens[1]})
	if len(again) != 1 || again[0] != tokens[1] {
		t.Errorf("resumed with %d tokens, want %d", again, tokens[1])
	}
}

// Servers of chat completions write reasoning into members of their own, or null.
func TestReasoningOfAServersOwnMembersCounts(t *testing.T) {
	const thought = 4000 // bytes
	words := strings.Repeat("x", thought)
	for own, want := range map[string]int64{
		``: 0, `"refusal":null`: 0, `"reasoning":null,"reasoning_details":[]`: 0, `"reasoning_content":""`: 0,
		`"reasoning_content":"` + words + `"`:                                        thought / bytesPerToken,
		`"reasoning":"` + words + `","reasoning_details":[{"text":"` + words + `"}]`: (thought + 12) / bytesPerToken, // and {"text":""}
	} {
		plain := llm.Message{Role: llm.RoleAssistant, Parts: llm.Say("I look.")}
		m := plain
		m.Chat = json.RawMessage(strings.Replace(`{"role":"assistant","content":"I look.",`+own+`}`, ",}", "}", 1))
		if got := EstimateTokens(m) - EstimateTokens(plain); got != want {
			t.Errorf("%.40s: %d tokens more, want %d", own, got, want)
		}
		g := newGauge(nil)
		g.answered(&llm.Response{Message: m, Usage: vocab.Usage{Input: 100, Output: 50, Reasoning: 40}})
		g.add(m)
		if sent := want > 0; (g.tokens == 150) != sent || (g.tokens == 110) == sent {
			t.Errorf("%.40s: %d tokens after the reply, want 150 with reasoning and 110 without", own, g.tokens)
		}
	}
}

// sized is a model that keeps how long requests are said to be.
type sized struct {
	llm.Model
	tokens *[]int64
}

func (s sized) Generate(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	*s.tokens = append(*s.tokens, req.Tokens)
	return s.Model.Generate(ctx, req)
}

// full refuses conversations of more than so many messages.
type full struct {
	*script
	most int
}

func (f full) Generate(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	if len(req.Messages) > f.most {
		return nil, &llm.Unpaid{Err: fault.New(fault.Instance, "asking", fmt.Errorf("%w: 400", llm.ErrContextLength))}
	}
	return f.script.Generate(ctx, req)
}

func TestARefusedConversationIsRewrittenOnce(t *testing.T) {
	drop := func(n int) func(context.Context, Conversation) (*Rewriting, error) {
		return func(_ context.Context, c Conversation) (*Rewriting, error) {
			if !c.Refused || n == 0 {
				return nil, nil
			}
			return &Rewriting{"drop", []Edit{{2, 2 + n, nil}}}, nil
		}
	}
	for name, c := range map[string]struct {
		rewrite func(context.Context, Conversation) (*Rewriting, error)
		status  vocab.Status
		events  string
		calls   int
	}{
		"shorter": {drop(2), vocab.StatusSubmitted, "messages request refused rewrite request reply messages action output interrupt messages end", 2},
		"not short enough": {func(_ context.Context, c Conversation) (*Rewriting, error) {
			if !c.Refused {
				return nil, nil
			}
			return &Rewriting{"words", []Edit{{1, 2, []llm.Message{{Role: llm.RoleUser, Parts: llm.Say("t")}}}}}, nil
		}, vocab.StatusContextWindowExceeded, "messages request refused rewrite request refused interrupt messages end", 1},
		"nothing to change": {drop(0), vocab.StatusContextWindowExceeded, "messages request refused interrupt messages end", 1},
	} {
		t.Run(name, func(t *testing.T) {
			j, admitted := &journal{}, 0
			m := full{&script{replies: []*llm.Response{ask("1", "a"), ask("2", submit)}}, 3}
			end, err := newLoop(t, nil).Run(t.Context(), Turn{
				Model: m, Env: &env{outputs: submitting("p")}, Recorder: j, Hooks: Hooks{Rewrite: c.rewrite}, Admit: func() error { admitted++; return nil },
			})
			if err != nil || end.Status != c.status || end.Calls != c.calls || end.Cost != float64(c.calls) {
				t.Errorf("got %+v, %v; want status %v, %d calls", end, err, c.status, c.calls)
			}
			if got := strings.Join(j.types(), " "); !strings.HasSuffix(got, c.events) {
				t.Errorf("events %s, want %s at the end", got, c.events)
			}
			if requests := strings.Count(strings.Join(j.types(), " ")+" ", "request "); admitted != requests {
				t.Errorf("%d calls were admitted, %d made", admitted, requests)
			}
		})
	}
}

func TestAnErrorOfARewriteEndsTheRun(t *testing.T) {
	away := errors.New("away")
	m := &script{replies: []*llm.Response{ask("1", "a")}}
	rewrite := func(_ context.Context, c Conversation) (*Rewriting, error) {
		if len(c.Messages) < 4 {
			return nil, nil
		}
		return nil, away
	}
	end, err := newLoop(t, nil).Run(t.Context(), Turn{Model: m, Env: &env{outputs: submitting("p")}, Hooks: Hooks{Rewrite: rewrite}})
	if !errors.Is(err, away) || end.Calls != 1 || len(m.asked) != 1 {
		t.Errorf("got %+v, %v after %d calls; want %v after 1", end, err, len(m.asked), away)
	}
}
