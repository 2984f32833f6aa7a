package conformance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/stub"
)

// failure describes how a call must fail.
type failure struct {
	name    string
	answer  stub.Answer
	kind    fault.Kind
	unpaid  bool  // it was certainly not charged
	limited bool  // the key's rate limit, or an overload
	either  bool  // limited may have any value
	is      error // an error in the chain
	not     []stub.Protocol
}

// failures returns a provider's refusals before it starts work.
func failures() []failure {
	const other = fault.Instance
	return []failure{
		{name: "400", answer: stub.Status(400), kind: other, unpaid: true},
		{name: "401", answer: stub.Status(401), kind: fault.Host, unpaid: true},
		{name: "403", answer: stub.Status(403), kind: fault.Host, unpaid: true},
		{name: "404", answer: stub.Status(404), kind: fault.Host, unpaid: true},
		{name: "408", answer: stub.Status(408), kind: fault.Transient, unpaid: true},
		{name: "413", answer: stub.Status(413), kind: other, unpaid: true},
		{name: "429", answer: stub.Status(429), kind: fault.Transient, unpaid: true, limited: true},
		{name: "500", answer: stub.Status(500), kind: fault.Transient, unpaid: true},
		{name: "502 page", answer: stub.Status(502), kind: fault.Transient, unpaid: true},
		{name: "503", answer: stub.Refusal(503, "", "no upstream"), kind: fault.Transient, unpaid: true},
		{name: "503 of an overload", answer: stub.Status(503), kind: fault.Transient, unpaid: true, either: true},
		{name: "504", answer: stub.Status(504), kind: fault.Transient},
		{name: "529", answer: stub.Status(529), kind: fault.Transient, unpaid: true, limited: true},
		{name: "529 with retry-after", answer: stub.Answer{Status: 529, RetryAfter: time.Second}, kind: fault.Transient, unpaid: true, limited: true},
		{name: "too long", answer: stub.TooLong(), kind: other, unpaid: true, is: llm.ErrContextLength},
		{name: "flagged", answer: stub.Flagged(), kind: other, is: llm.ErrContentPolicy, unpaid: true, not: []stub.Protocol{stub.Gemini}},
		{name: "no credit", answer: stub.NoQuota(), kind: fault.Host, unpaid: true, not: []stub.Protocol{stub.Gemini}},
	}
}

// fails makes a call that must fail like f, on an endpoint that has answered before.
func (s *suite) fails(f failure) {
	s.Helper()
	at := stub.NewServer(s, f.answer)
	cfg := s.config(at)
	cfg.Proven = true
	cfg.RequestTimeout, cfg.IdleTimeout = 20*time.Second, 20*time.Second
	switch f.answer.Fault {
	case stub.Stall, stub.Silence:
		cfg.RequestTimeout, cfg.IdleTimeout = 300*time.Millisecond, 100*time.Millisecond
	}
	resp, err := s.open(cfg).Generate(s.Context(), ask())
	if err == nil {
		s.Errorf("%s: answered %+v, want an error", f.name, resp)
		return
	}
	if got := fault.KindOf(err); got != f.kind {
		s.Errorf("%s: %v is %v, want %v", f.name, err, got, f.kind)
	}
	if lost := llm.Lost(err); (lost == 0) != f.unpaid {
		s.Errorf("%s: %d calls may have been charged after %v, want not charged: %v", f.name, lost, err, f.unpaid)
	}
	if _, limited := errors.AsType[*llm.RateLimited](err); limited != f.limited && !f.either {
		s.Errorf("%s: %v is a rate limit: %v, want %v", f.name, err, limited, f.limited)
	}
	for _, typed := range []error{llm.ErrContextLength, llm.ErrContentPolicy} {
		if f.name != "413" && errors.Is(err, typed) != (typed == f.is) {
			s.Errorf("%s: %v is taken for %v: %v, want %v", f.name, err, typed, errors.Is(err, typed), typed == f.is)
		}
	}
	s.hides(err)
}

// hides checks that an error contains neither the key nor the address's secrets.
func (s *suite) hides(err error) {
	s.Helper()
	if text := err.Error() + fault.HintOf(err) + fmt.Sprintf("%+v", err); strings.Contains(text, Key) {
		s.Errorf("the error has the API key: %s", text)
	}
}

// refusals checks the interpretation of each status and error of the provider.
func (s *suite) refusals() {
	for _, f := range failures() {
		if !slices.Contains(f.not, s.Protocol) {
			s.fails(f)
		}
	}
	if s.Protocol == stub.Gemini { // it sends status 200 without an answer
		_, m := s.serve(stub.Flagged())
		resp, err := m.Generate(s.Context(), ask())
		if err == nil && !resp.Filtered() || err != nil && !errors.Is(err, llm.ErrContentPolicy) {
			s.Errorf("a blocked prompt gives %+v, %v; want a filtered answer, or ErrContentPolicy", resp, err)
		}
	}
}

// firstRefused checks that a refusal of the very first request stops the run: all instances send a similar
// one.
func (s *suite) firstRefused() {
	for _, status := range []int{400, 401, 403, 404} {
		_, m := s.serve(stub.Status(status))
		_, err := m.Generate(s.Context(), ask())
		if fault.KindOf(err) != fault.Host || fault.HintOf(err) == "" {
			s.Errorf("the first request is refused by %d: %v is %v with hint %q, want %v with a hint",
				status, err, fault.KindOf(err), fault.HintOf(err), fault.Host)
		}
	}
	_, m := s.serve(stub.Text("ok"), stub.Status(400))
	s.generate(m, ask())
	if _, err := m.Generate(s.Context(), ask()); fault.KindOf(err) != fault.Instance {
		s.Errorf("a later request is refused by 400: %v is %v, want %v", err, fault.KindOf(err), fault.Instance)
	}
}

// broken checks that a truncated answer is a Transient fault, and may have been charged; the partial text
// never counts as an answer.
func (s *suite) broken() {
	text := stub.Answer{Reasoning: "hm", Content: strings.Repeat("half of this is lost ", 20)}
	call := stub.Answer{ToolCalls: []llm.ToolCall{stub.BashCall("", strings.Repeat("rm x; ", 50))}}
	for name, kind := range map[string]stub.Fault{
		"garbage": stub.Garbage, "half": stub.Half, "without an end": stub.Cut, "stalled": stub.Stall,
		"hang-up": stub.Hangup, "silence": stub.Silence, "garbage in the middle": stub.GarbageEvent,
	} {
		for _, a := range []stub.Answer{text, call} {
			a.Fault = kind
			s.fails(failure{name: name, answer: a, kind: fault.Transient})
		}
	}
	if s.stream {
		text.Fault = stub.Broken
		s.fails(failure{name: "an error in the middle", answer: text, kind: fault.Transient, either: true})
		text.Status = 503
		s.fails(failure{name: "a 503 in the middle", answer: text, kind: fault.Transient, either: true})
	}
}

// retryAfter checks that all forms of a provider's wait are read.
func (s *suite) retryAfter() {
	forms := map[stub.RetryForm]string{stub.InSeconds: "seconds", stub.AsDate: "a date"}
	switch s.Protocol {
	case stub.Gemini:
		forms[stub.InBody] = "the body"
	case stub.Chat, stub.Responses:
		forms[stub.InMillis] = "milliseconds"
	}
	for form, name := range forms {
		for _, status := range []int{429, 503} {
			a := stub.Answer{Status: status, RetryAfter: 40 * time.Second, RetryForm: form}
			_, m := s.serve(a)
			_, err := m.Generate(s.Context(), ask())
			limited, ok := errors.AsType[*llm.RateLimited](err)
			if !ok || limited.After < 38*time.Second || limited.After > 41*time.Second {
				s.Errorf("a %d with the wait in %s: %v, want a rate limit of 40s", status, name, err)
			}
		}
	}
}

// rateHeaders checks that the limits in the headers of answers and refusals are read.
func (s *suite) rateHeaders() {
	if s.Protocol == stub.Gemini {
		s.Skip("Gemini has no such headers")
	}
	rate := llm.Rate{
		Requests: llm.Window{Limit: 600, Remaining: 599, Reset: 2 * time.Second},
		Tokens:   llm.Window{Limit: 90000, Remaining: 40000, Reset: 33 * time.Second},
	}
	_, m := s.serve(stub.Answer{Content: "x", Rate: rate}, stub.Answer{Status: 429, Rate: rate})
	check := func(what string, got *llm.Rate) {
		if got == nil || got.Requests.Limit != 600 || got.Requests.Remaining != 599 || got.Tokens.Limit != 90000 ||
			got.Tokens.Remaining != 40000 || got.Tokens.Reset < 30*time.Second || got.Tokens.Reset > 34*time.Second {
			s.Errorf("%s: read the limits %+v, want %+v", what, got, rate)
		}
	}
	check("an answer", s.generate(m, ask()).Rate)
	_, err := m.Generate(s.Context(), ask())
	limited, ok := errors.AsType[*llm.RateLimited](err)
	if !ok {
		s.Fatalf("%v, want a rate limit", err)
	}
	check("a refusal", limited.Rate)
}

// secrets checks that no error and no log line contains a secret of the configuration, even if a server
// repeats it.
func (s *suite) secrets() {
	const header, user, password = "planted-in-a-header-42", "planted-user-43", "planted-password-44"
	echo := fmt.Sprintf("the key %s is refused, and so are %s and %s", Key, header, user)
	atTheClip := strings.Repeat("x", 575) + " " + Key // the text of an error is truncated there
	answers := []stub.Answer{
		stub.Refusal(400, "x", echo), stub.Refusal(401, "x", echo), stub.Refusal(429, "x", echo), stub.Refusal(500, "x", atTheClip),
		{Status: 502, Body: []byte(echo)},
		{Body: []byte(echo)},
		{Fault: stub.Hangup},
		{Content: "x", Fault: stub.Broken, Error: stub.ErrorBody{Message: echo}},
	}
	for i, a := range answers {
		at := stub.NewServer(s, a)
		cfg := s.config(at)
		cfg.BaseURL = strings.Replace(cfg.BaseURL, "://", "://"+user+":"+password+"@", 1)
		cfg.Retry = llm.RetryPolicy{Tries: 2, Base: time.Millisecond, Max: time.Millisecond}
		cfg.Kwargs["extra_headers"] = map[string]any{"X-Secret": header}
		var log strings.Builder
		logged := llm.Calls{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
		_, err := logged.Compose(s.open(cfg)).Generate(s.Context(), ask())
		if err == nil {
			s.Errorf("answer %d: no error, want one", i+1)
			continue
		}
		said := err.Error() + fault.HintOf(err) + fmt.Sprintf("%+v", err) + log.String()
		for _, secret := range []string{Key, Key[:20], header, user, password} {
			if strings.Contains(said, secret) {
				s.Errorf("answer %d: %s is in the error or the log: %s", i+1, secret, said)
			}
		}
		if got := last(at).Header.Get("X-Secret"); got != header {
			s.Errorf("answer %d: asked with header %q, want %q of extra_headers", i+1, got, header)
		}
	}
}

// redirects checks that no request goes to a server other than the configured one: it may see neither the key
// nor the conversation.
func (s *suite) redirects() {
	var asked atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer other.Close()
	_, m := s.serve(stub.Answer{Status: http.StatusTemporaryRedirect, Header: map[string]string{"Location": other.URL}, Body: []byte("{}")})
	_, err := m.Generate(s.Context(), ask())
	if fault.KindOf(err) != fault.Host || llm.Lost(err) != 0 || asked.Load() != 0 {
		s.Errorf("redirected to another server: %v (%v), %d lost, which was asked %d times; want a Host fault, none lost, not asked",
			err, fault.KindOf(err), llm.Lost(err), asked.Load())
	}
}

// connections checks that consecutive calls share a connection.
func (s *suite) connections() {
	_, m := s.serve(stub.Answer{Content: strings.Repeat("some words ", 20), Pace: time.Microsecond})
	var opened atomic.Int64
	ctx := httptrace.WithClientTrace(s.Context(), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
		if !c.Reused {
			opened.Add(1)
		}
	}})
	const calls = 5
	for range calls {
		if _, err := m.Generate(ctx, ask()); err != nil {
			s.Fatal(err)
		}
	}
	if n := opened.Load(); n > 2 { // on a loaded machine, the end of a stream may be late once
		s.Errorf("%d calls opened %d connections, want 1", calls, n)
	}
}

// cancel checks that a canceled call returns the cancellation at once, at any point.
func (s *suite) cancel() {
	for name, a := range map[string]stub.Answer{
		"before the answer": {Fault: stub.Silence},
		"in the middle":     {Content: strings.Repeat("half of it ", 20), Fault: stub.Stall},
	} {
		ctx, cancel := context.WithCancel(s.Context())
		at := stub.NewServerFunc(s, func(int, *stub.Request) stub.Answer {
			time.AfterFunc(50*time.Millisecond, cancel)
			return a
		})
		begun := time.Now()
		_, err := s.open(s.config(at)).Generate(ctx, ask())
		if !errors.Is(err, context.Canceled) {
			s.Errorf("canceled %s: %v, want the cancellation", name, err)
		}
		if took := time.Since(begun); took > 10*time.Second {
			s.Errorf("canceled %s: returned after %v, want at once", name, took)
		}
		cancel()
	}
}
