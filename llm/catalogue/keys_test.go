package catalogue

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/authority"
	"batch.example/batch/llm/stub"
)

func question() *llm.Request {
	return &llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Parts: llm.Say("hi")}}}
}

func TestAnInstanceStaysWithOneOfSeveralKeys(t *testing.T) {
	s := stub.NewServer(t, stub.Text("ok"))
	settings := with("openai/m", "OPENAI_API_KEYS=key-a, key-b\nkey-c", "OPENAI_API_KEY=other", "OPENAI_BASE_URL="+s.URL)
	var gated []string
	settings.Gate = func(provider, base, key string) llm.Gate {
		gated = append(gated, provider+" "+base+" "+key)
		return nil
	}
	m, err := Find(settings)
	if err != nil {
		t.Fatal(err)
	}
	if each, err := m.Each(); err != nil || len(each) != 3 {
		t.Fatalf("%d models, %v; want one of each of 3 keys, no error", len(each), err)
	}
	gated = nil
	models, err := m.Open(false)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("openai %[1]s key-a,openai %[1]s key-b,openai %[1]s key-c", s.URL); strings.Join(gated, ",") != want {
		t.Errorf("gates of %q, want %q", gated, want)
	}
	used := map[string]string{}
	count := map[string]int{}
	for range 2 {
		for i := range 60 {
			id := fmt.Sprintf("django__django-%d", 10000+i)
			model, err := models(Attempt{ID: id})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := model.Generate(t.Context(), question()); err != nil {
				t.Fatal(err)
			}
			requests := s.Requests()
			key := requests[len(requests)-1].Header.Get("Authorization")
			if before, ok := used[id]; ok && before != key {
				t.Errorf("%s: asked with %s and then with %s", id, before, key)
			}
			used[id] = key
			count[key]++
		}
	}
	for _, key := range []string{"key-a", "key-b", "key-c"} {
		if n := count["Bearer "+key]; n < 20 {
			t.Errorf("%s made %d of 120 calls, want a fair share", key, n)
		}
	}
}

func TestTheErrorOfOneOfSeveralKeysNamesIt(t *testing.T) {
	s := stub.NewServerFunc(t, func(_ int, r *stub.Request) stub.Answer {
		if r.Header.Get("Authorization") == "Bearer key-b" {
			return stub.Refusal(http.StatusUnauthorized, "invalid_api_key", "Incorrect API key provided")
		}
		return stub.Text("ok")
	})
	m, err := Find(with("openai/m", "OPENAI_API_KEYS=key-a,key-b", "OPENAI_BASE_URL="+s.URL))
	if err != nil {
		t.Fatal(err)
	}
	models, err := m.Open(false)
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for i := range 20 {
		model, err := models(Attempt{ID: fmt.Sprint(i)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := model.Generate(t.Context(), question()); err != nil {
			failed++
			if fault.KindOf(err) != fault.Host || !strings.Contains(fault.HintOf(err), "key 2 of the 2 in OPENAI_API_KEYS") {
				t.Errorf("%v, hint %q; want a Host fault that names the key", err, fault.HintOf(err))
			}
		}
	}
	if failed == 0 || failed == 20 {
		t.Errorf("%d of 20 instances failed, want one key's", failed)
	}
}

func TestTheLineBreakBehindAKeyIsNoPartOfIt(t *testing.T) {
	s := stub.NewServer(t, stub.Text("ok"))
	if err := askOnce(t, with("openai/m", "OPENAI_API_KEY=key-a\r\n", "OPENAI_BASE_URL="+s.URL)); err != nil {
		t.Fatal(err)
	}
	if got := s.Requests()[0].Header.Get("Authorization"); got != "Bearer key-a" {
		t.Errorf("asked with %q, want %q", got, "Bearer key-a")
	}
}

func TestTheErrorOfAKeyOfTheConfigurationNamesIt(t *testing.T) {
	s := stub.NewServer(t, stub.Status(http.StatusUnauthorized))
	settings := with("openai/m", "OPENAI_API_KEY=other", "OPENAI_BASE_URL="+s.URL)
	settings.Kwargs = map[string]any{"api_key": "wrong"}
	if err := askOnce(t, settings); !strings.Contains(fault.HintOf(err), "check model_kwargs.api_key") {
		t.Errorf("%v, hint %q; want the setting to check", err, fault.HintOf(err))
	}
}

// askOnce makes one call for an instance.
func askOnce(t *testing.T, s Config) error {
	t.Helper()
	_, err := modelOf(t, s, Attempt{ID: "a"}).Generate(t.Context(), question())
	return err
}

// modelOf returns the model of an attempt.
func modelOf(t *testing.T, s Config, a Attempt) llm.Model {
	t.Helper()
	m, err := Find(s)
	if err != nil {
		t.Fatal(err)
	}
	models, err := m.Open(false)
	if err != nil {
		t.Fatal(err)
	}
	model, err := models(a)
	if err != nil {
		t.Fatal(err)
	}
	return model
}

func TestAProviderWithoutAKeyReadsNoVariable(t *testing.T) {
	for _, p := range Providers() {
		if p.Key != "" {
			continue
		}
		keys, _ := p.Keys(func(name string) string { return "value of " + name })
		if keys != nil {
			t.Errorf("%s has the keys %q, want none", p.Name, keys)
		}
	}
}

func TestAModelWithoutAKeyIsFoundWhereKeysComeWithTurns(t *testing.T) {
	for _, name := range []string{"openai/m", "openai/responses/gpt-5", "anthropic/m", "gemini/m", "openrouter/m"} {
		settings := with(name)
		if _, err := Find(settings); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v, want a Usage fault without any key", name, err)
		}
		settings.KeyFromTurn = true
		m := modelOf(t, settings, Attempt{ID: "a"})
		_, err := m.Generate(t.Context(), question())
		if fault.KindOf(err) != fault.Usage || llm.Lost(err) != 0 || !strings.Contains(err.Error(), "none came with the turn") {
			t.Errorf("%s: %v, want a Usage fault of the call", name, err)
		}
	}
}

func TestAKeyOfATurnAtAzureIsInItsOwnHeader(t *testing.T) {
	s := stub.NewServer(t, stub.Text("ok"))
	settings := with("azure/m", "AZURE_API_KEY=configured", "AZURE_API_BASE="+strings.TrimSuffix(s.URL, "/v1"))
	ctx := authority.With(t.Context(), &authority.Authority{ModelKey: "sk-of-a-turn"})
	if _, err := modelOf(t, settings, Attempt{ID: "a"}).Generate(ctx, question()); err != nil {
		t.Fatal(err)
	}
	if h := s.Requests()[0].Header; h.Get("Api-Key") != "sk-of-a-turn" || h.Get("Authorization") != "" {
		t.Errorf("asked with %v, want the turn's key in Api-Key alone", h)
	}
}

// gates admit everything and record the keys.
type gates struct {
	mu       sync.Mutex
	opened   []string
	admitted []string
	err      error
}

type gate struct {
	all *gates
	key string
}

func (g gate) Enter(context.Context, *llm.Ticket) (llm.Pass, error) {
	g.all.mu.Lock()
	defer g.all.mu.Unlock()
	g.all.admitted = append(g.all.admitted, g.key)
	return g, g.all.err
}

func (gate) Done(*llm.Response, error) {}

func TestTheLimitsOfTurnsWithKeysOfTheirOwnAreApart(t *testing.T) {
	s := stub.NewServer(t, stub.Text("ok"))
	all := &gates{}
	settings := with("openai/m", "OPENAI_API_KEY=configured", "OPENAI_BASE_URL="+s.URL)
	settings.Gate = func(_, _, key string) llm.Gate {
		all.opened = append(all.opened, key)
		return gate{all, key}
	}
	model := modelOf(t, settings, Attempt{ID: "a"})
	calls := llm.Calls{Gate: model.(interface{ Gate() llm.Gate }).Gate()}
	m := calls.Compose(model)
	all.opened = nil
	for _, key := range []string{"", "ann", "ann", "bob", ""} {
		ctx := authority.With(t.Context(), &authority.Authority{ModelKey: key})
		if _, err := m.Generate(ctx, question()); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"configured", "ann", "ann", "bob", "configured"}; !slices.Equal(all.admitted, want) {
		t.Errorf("admitted by the gates of %q, want %q", all.admitted, want)
	}
	if want := []string{"ann", "bob"}; !slices.Equal(all.opened, want) {
		t.Errorf("opened the gates of %q, want %q", all.opened, want)
	}
	all.err = fault.Newf(fault.Host, "every request was refused")
	ctx := authority.With(t.Context(), &authority.Authority{ModelKey: "ann"})
	if _, err := m.Generate(ctx, question()); fault.KindOf(err) != fault.Transient {
		t.Errorf("a turn's key that was refused for a long time: %v is %v, want %v", err, fault.KindOf(err), fault.Transient)
	}
	if _, err := m.Generate(t.Context(), question()); fault.KindOf(err) != fault.Host {
		t.Errorf("the configured key, refused for a long time: %v is %v, want %v", err, fault.KindOf(err), fault.Host)
	}
}
