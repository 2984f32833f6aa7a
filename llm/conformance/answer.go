package conformance

import (
	"strings"
	"time"

	"batch.example/batch/llm"
	"batch.example/batch/llm/price"
	"batch.example/batch/llm/stub"
	"batch.example/batch/vocab"
)

// stops checks the reasons why an answer ended.
func (s *suite) stops() {
	_, m := s.serve(
		stub.Answer{FinishReason: stub.FinishRefused},
		stub.Answer{Content: "It is too", FinishReason: stub.FinishLength},
		stub.Text("Fine."),
		stub.Answer{ToolCalls: []llm.ToolCall{{ID: "cut", Name: "bash", Arguments: `{"command":"rm -rf /a"}`}}, FinishReason: stub.FinishLength},
	)
	refused := s.generate(m, ask())
	if !refused.Filtered() {
		s.Errorf("the answer ended by %q and is not filtered, want a refusal", refused.FinishReason)
	}
	cut := s.generate(m, ask())
	if cut.End() != llm.EndCut || cut.Message.Text() != "It is too" || cut.Filtered() {
		s.Errorf("the answer %q ended by %q, want the partial text, truncated", cut.Message.Text(), cut.FinishReason)
	}
	req := ask() // both can be continued from
	observed(req, refused)
	said(req, "Again, please.")
	observed(req, cut)
	said(req, "Continue.")
	if whole := s.generate(m, req); whole.End() == llm.EndCut {
		s.Errorf("the answer with finish reason %q is truncated, want a whole one", whole.FinishReason)
	}
	if cut := s.generate(m, ask()); cut.End() != llm.EndCut || len(cut.Message.ToolCalls()) != 1 {
		s.Errorf("the answer %v ended by %q, want one call, truncated", cut.Message.Parts, cut.FinishReason)
	}
}

// paused checks that a turn that the provider pauses is continued.
func (s *suite) paused() {
	if s.Protocol != stub.Anthropic {
		s.Skip("only Anthropic pauses turns")
	}
	at := stub.NewServer(
		s, stub.Answer{Content: "Wait.", FinishReason: stub.FinishPaused, Usage: vocab.Usage{Input: 10, Output: 1}},
		stub.Answer{Content: "Here it is.", Usage: vocab.Usage{Input: 12, Output: 2}},
	)
	cfg := s.config(at)
	cfg.Prices = s.prices()
	resp := s.generate(s.open(cfg), ask())
	if got := resp.Message.Text(); got != "Wait.Here it is." || resp.FinishReason == "pause_turn" {
		s.Errorf("read %q, ended by %q; want both halves of the turn, and its end", got, resp.FinishReason)
	}
	if got, want := resp.Usage, (vocab.Usage{Input: 22, Output: 3}); got != want || resp.Cost != 22*1+3*4 {
		s.Errorf("used %+v for %v, want %+v for both requests, and its price", got, resp.Cost, want)
	}
	turns := last(at).Turns()
	if n := len(at.Requests()); n != 2 || turns[len(turns)-1].Text() != "Wait." {
		s.Errorf("%d requests, the last with %+v; want 2, and the first half in the second", n, turns)
	}
}

// counted returns a usage with the kinds of tokens that the protocol has.
func (s *suite) counted() vocab.Usage {
	u := vocab.Usage{Input: 1000, Cached: 400, CacheWrite: 300, CacheHour: 100, Output: 90, Reasoning: 60}
	switch s.Protocol {
	case stub.Anthropic:
	case stub.Gemini:
		u.CacheWrite, u.CacheHour = 0, 0
	default:
		u.CacheHour = 0
	}
	return u
}

// usage checks that all kinds of tokens are counted as vocab.Usage defines them, and that an answer needs no
// price if costs are ignored.
func (s *suite) usage() {
	want := s.counted()
	_, m := s.serve(stub.Answer{Content: "x", Usage: want})
	if resp := s.generate(m, ask()); resp.Usage != want || !resp.Priced || resp.Cost != 0 {
		s.Errorf("counted %+v, priced %v at %v; want %+v, true, 0", resp.Usage, resp.Priced, resp.Cost, want)
	}
}

// missingUsage checks that an answer without usage is not lost, and that its price is unknown.
func (s *suite) missingUsage() {
	at, _ := s.serve(stub.Answer{Content: "x", NoUsage: true})
	cfg := s.config(at)
	cfg.IgnoreCost, cfg.Prices = false, s.prices()
	resp := s.generate(s.open(cfg), ask())
	if resp.Usage.Input != 0 || resp.Priced || resp.Message.Text() != "x" {
		s.Errorf("read %q, usage %+v, priced %v; want %q, nothing, false", resp.Message.Text(), resp.Usage, resp.Priced, "x")
	}
}

func (s *suite) prices() price.Table {
	return price.Table{s.model: {Price: &vocab.Price{Rates: vocab.Rates{Input: 1, CachedInput: 0.25, CacheWrite: 2, Output: 4}}}}
}

// price checks that a call costs what the table or the provider says.
func (s *suite) price() {
	u := s.counted()
	u.CacheHour = 0
	cost := 12.5
	at, _ := s.serve(stub.Answer{Content: "x", Usage: u}, stub.Answer{Content: "x", Usage: u, Cost: &cost})
	cfg := s.config(at)
	cfg.IgnoreCost, cfg.Prices = false, s.prices()
	m := s.open(cfg)
	want := float64(u.Input-u.Cached-u.CacheWrite) + 0.25*float64(u.Cached) + 2*float64(u.CacheWrite) + 4*float64(u.Output)
	if resp := s.generate(m, ask()); resp.Cost != want || !resp.Priced {
		s.Errorf("cost %v, priced %v; want %v, true", resp.Cost, resp.Priced, want)
	}
	if s.Protocol != stub.Chat {
		return // only routers of that protocol report costs
	}
	if resp := s.generate(m, ask()); resp.Cost != cost || !resp.Priced {
		s.Errorf("cost %v, priced %v; want %v as the provider reports", resp.Cost, resp.Priced, cost)
	}
}

// oddAnswers checks that unusual answers are read, and that the conversation can continue after them.
func (s *suite) oddAnswers() {
	huge := strings.Repeat("0123456789abcdef", 17<<12) // more than a buffer of 64 KiB or 1 MiB
	for _, tt := range []struct {
		name  string
		a     stub.Answer
		calls int
	}{
		{"a huge answer", stub.Text(huge), 0},
		{"a huge call", stub.Bash(huge), 1},
		{"an empty answer", stub.Answer{}, 0},
		{"white space", stub.Text(" \n"), 0},
		{"an unknown tool", stub.Answer{ToolCalls: []llm.ToolCall{{Name: "shell", Arguments: `{"a":[1,2.50,{"b":null}]}`}}}, 1},
		{"no arguments", stub.Answer{ToolCalls: []llm.ToolCall{{Name: "bash", Arguments: `{}`}}}, 1},
		{"malformed arguments", stub.Answer{ToolCalls: []llm.ToolCall{{Name: "bash", Arguments: `{"command": "ls`}}}, s.malformed()},
		{"byte by byte", stub.Answer{Content: "x", Fault: stub.Drip, Pace: time.Microsecond}, 0},
	} {
		_, m := s.serve(tt.a, stub.Text("Fine."))
		req := ask()
		resp := s.generate(m, req)
		if calls := resp.Message.ToolCalls(); len(calls) != tt.calls {
			s.Errorf("%s: read %d calls, want %d", tt.name, len(calls), tt.calls)
		}
		unread := len(tt.a.ToolCalls) > tt.calls // the provider's words for it may be in the text
		if got := resp.Message.Text(); got != tt.a.Content && !unread {
			s.Errorf("%s: read %d bytes of text, want %d", tt.name, len(got), len(tt.a.Content))
		}
		observed(req, resp)
		said(req, "Continue.")
		s.generate(m, req)
	}
}

// malformed returns the number of calls in an answer with one call whose arguments are malformed: Gemini does
// not pass such a call on.
func (s *suite) malformed() int {
	if s.Protocol == stub.Gemini {
		return 0
	}
	return 1
}
