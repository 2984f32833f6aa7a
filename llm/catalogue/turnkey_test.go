package catalogue

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"batch.example/batch/authority"
	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/stub"
)

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
