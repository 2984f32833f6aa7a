package conformance

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/authority"
	"batch.example/batch/llm/stub"
)

// keyHeaders has the header of the key in each protocol.
var keyHeaders = map[stub.Protocol]string{
	stub.Chat: "Authorization", stub.Responses: "Authorization", stub.Anthropic: "X-Api-Key", stub.Gemini: "X-Goog-Api-Key",
}

// keysOf returns a request's values of all headers that may contain a key.
func keysOf(p stub.Protocol, r *stub.Request) (own string, others []string) {
	for _, name := range []string{"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key"} {
		if name == keyHeaders[p] {
			own = strings.TrimPrefix(r.Header.Get(name), "Bearer ")
		} else if r.Header.Get(name) != "" {
			others = append(others, name)
		}
	}
	return own, others
}

// turnKeys checks that a call uses only the key of its own context, even if other calls are made at the same
// time.
func (s *suite) turnKeys() {
	const turns = 8
	var met sync.WaitGroup // all requests arrive before any is answered
	met.Add(turns)
	at := stub.NewServerFunc(s, func(_ int, r *stub.Request) stub.Answer {
		turn := r.Turns()[len(r.Turns())-1].Text()
		own, others := keysOf(s.Protocol, r)
		if want := "sk-" + strings.ReplaceAll(turn, " ", "-of-a-person-"); own != want || others != nil {
			s.Errorf("%s: asked with %q and also %v, want %q alone", turn, own, others, want)
		}
		met.Done()
		met.Wait()
		return stub.Text("ok")
	})
	m := s.open(s.config(at))
	var done sync.WaitGroup
	for i := range turns {
		done.Go(func() {
			req := ask()
			req.Messages[1].Parts = llm.Say(fmt.Sprintf("turn %d", i))
			ctx := authority.With(s.Context(), &authority.Authority{ModelKey: fmt.Sprintf("sk-turn-of-a-person-%d", i)})
			if _, err := m.Generate(ctx, req); err != nil {
				s.Errorf("turn %d: %v", i, err)
			}
		})
	}
	done.Wait()
}

// withoutKey checks that a model without a key works only with the keys of turns, and that a turn without a
// key uses the configured one.
func (s *suite) withoutKey() {
	at := stub.NewServer(s, stub.Text("ok"))
	cfg := s.config(at)
	turn := authority.With(s.Context(), &authority.Authority{ModelKey: turnKey})
	keyless := authority.With(s.Context(), &authority.Authority{Actor: "nobody"})
	if _, err := s.open(cfg).Generate(keyless, ask()); err != nil {
		s.Error(err)
	}
	if own, _ := keysOf(s.Protocol, last(at)); own != Key {
		s.Errorf("a turn without a key is asked with %q, want the configured one", own)
	}
	cfg.APIKey, cfg.KeyFromTurn = "", true
	m := s.open(cfg)
	if _, err := m.Generate(turn, ask()); err != nil {
		s.Error(err)
	}
	before := len(at.Requests())
	_, err := m.Generate(keyless, ask())
	if fault.KindOf(err) != fault.Usage || llm.Lost(err) != 0 || len(at.Requests()) != before {
		s.Errorf("without any key: %v (%v), %d requests; want a Usage fault and none", err, fault.KindOf(err), len(at.Requests())-before)
	}
	cfg.BaseURL, cfg.KeyFromTurn = "", false
	if _, err := s.Client.Open(cfg); fault.KindOf(err) != fault.Host {
		s.Errorf("the provider's own address without a key: %v, want a Host fault", err)
	}
	cfg.KeyFromTurn = true
	if _, err := s.Client.Open(cfg); err != nil {
		s.Errorf("the provider's own address, with the keys of turns: %v, want no error", err)
	}
}

// turnKey is a key that no configuration has.
const turnKey = "sk-of-a-turn-9876543210fedcba"

// turnRefused checks that the refusal of a turn's key fails the turn, not the run, and that the key is hidden
// in every error.
func (s *suite) turnRefused() {
	const shown = "sk-of-a-turn-0123456789fedcba"
	spelled := `sk-of-a-turn-\u0030123456789fedcba` // in JSON, the same text
	ctx := authority.With(s.Context(), &authority.Authority{ModelKey: shown})
	broken := stub.Answer{Content: "half of it", Fault: stub.Broken, Status: 503, Error: stub.ErrorBody{Message: "broke with " + shown}}
	for _, c := range []struct {
		name   string
		answer stub.Answer
		kind   fault.Kind
	}{
		{"401", stub.Refusal(401, "invalid_api_key", "Incorrect API key: "+shown), fault.Expired},
		{"403", stub.Refusal(403, "denied", shown+" may not"), fault.Expired},
		{"no credit", stub.Refusal(402, "insufficient_quota", shown+" has no money"), fault.Expired},
		{"400", stub.Refusal(400, "bad", "a request of "+shown), fault.Instance},
		{"429", stub.Refusal(429, "rate_limit_exceeded", "too many for "+shown), fault.Transient},
		{"500", stub.Refusal(500, "server_error", "dump: Authorization: Bearer "+shown), fault.Transient},
		{"a spelling of JSON", stub.Answer{Status: 401, Body: []byte(`{"error":{"message":"key ` + spelled + `"}}`)}, fault.Expired},
		{"a page", stub.Answer{Status: 502, Body: []byte("<html>\n<p>" + shown + "\n")}, fault.Transient},
		{"no answer of the protocol", stub.Answer{Body: []byte(shown)}, fault.Transient},
		{"an error in the middle", broken, fault.Transient},
	} {
		at := stub.NewServer(s, c.answer)
		cfg := s.config(at)
		cfg.Proven = true
		resp, err := s.open(cfg).Generate(ctx, ask())
		if err == nil {
			if c.answer.Fault != stub.Broken || s.stream {
				s.Errorf("%s: answered %+v, want an error", c.name, resp)
			}
			continue
		}
		if fault.KindOf(err) != c.kind || errors.Is(err, authority.ErrRefused) != (c.kind == fault.Expired) {
			s.Errorf("%s: %v is %v, want %v", c.name, err, fault.KindOf(err), c.kind)
		}
		if c.kind == fault.Expired && llm.Lost(err) != 0 {
			s.Errorf("%s: %d calls may have been charged, want none", c.name, llm.Lost(err))
		}
		if text := err.Error() + fault.HintOf(err) + fmt.Sprintf("%+v %#v", err, err); strings.Contains(text, shown) {
			s.Errorf("%s: the error has the key: %s", c.name, text)
		}
	}
	_, m := s.serve(stub.Text("your key is "+shown), stub.Status(http.StatusNotFound))
	resp, err := m.Generate(ctx, ask())
	if err != nil {
		s.Fatal(err)
	}
	if text := resp.Message.Text() + string(resp.Raw) + string(resp.Message.Chat); !s.stream && strings.Contains(text, shown) || !strings.Contains(text, "your key is") {
		s.Errorf("the answer is %s, want it without the key", text) // a stream has the key in pieces
	}
	if _, err := m.Generate(ctx, ask()); fault.KindOf(err) != fault.Expired {
		s.Errorf("a model that is not found with this key: %v is %v, want %v", err, fault.KindOf(err), fault.Expired)
	}
}
