package catalogue

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/openai"
)

// with returns settings of a model under variables.
func with(model string, env ...string) Settings {
	return Settings{Model: model, Getenv: func(name string) string {
		for _, e := range env {
			if key, value, _ := strings.Cut(e, "="); key == name {
				return value
			}
		}
		return ""
	}}
}

func TestEveryRowIsWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Providers() {
		if p.Name == "" || seen[p.Name] || len(p.Models) == 0 {
			t.Errorf("%q: without a name of its own or of its models", p.Name)
		}
		seen[p.Name] = true
		for _, m := range p.Models {
			if provider, _, _ := strings.Cut(m, "/"); provider != p.Name {
				t.Errorf("%s: a model is called %s", p.Name, m)
			}
		}
		asked := p.Key != "" && p.Base != "" && p.Host != "" && p.prices != nil && p.tells != nil && p.caching != nil && p.endpoint != nil && p.connect != nil
		if p.Paid != asked || p.Paid == (p.play != nil) {
			t.Errorf("%s: neither asked nor played, or half of both", p.Name)
		}
	}
	if want := []string{"openai/", "oracle", "noop", "scripted/demo", "scripted/"}; !slices.Equal(Words(), want) {
		t.Errorf("completed to %q, want %q", Words(), want)
	}
	if want := "oracle, noop and scripted"; Free() != want {
		t.Errorf("free are %s", Free())
	}
}

func TestAModelThatCannotBeAskedIsRefused(t *testing.T) {
	unpriced := filepath.Join(t.TempDir(), "prices.json")
	if err := os.WriteFile(unpriced, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	key := "OPENAI_API_KEY=k"
	registry := with("openai/gpt-5", key)
	registry.Registry = unpriced
	nowhere := registry
	nowhere.Registry += "x"
	caching := with("openai/gpt-5", key)
	rule := "always"
	caching.CacheControl = &rule
	provided := with("a/b", key)
	provided.Provider = "nobody"
	for name, tc := range map[string]struct {
		s    Settings
		want string // in its text and hint
	}{
		"none":                {with(""), "no model is named"},
		"nobody's":            {with("/x"), "no model is named"},
		"an unknown provider": {with("mistral/large"), "models are openai/NAME, oracle, noop, scripted/demo or scripted/PATH"},
		"and the way to it":   {with("mistral/large"), "set OPENAI_BASE_URL and use -m openai/mistral/large"},
		"one that is set":     {provided, `no client for provider "nobody"`},
		"without a name":      {with("openai/", key), "the name after openai/ is missing"},
		"without a key":       {with("openai/gpt-5"), "no key for openai/gpt-5: OPENAI_API_KEY is not set"},
		"elsewhere without":   {with("openai/x", "OPENAI_BASE_URL=https://example.com/v1"), "OPENAI_API_KEY is not set"},
		"at no address":       {with("openai/x", key, "OPENAI_BASE_URL=localhost"), "not an http or https URL"},
		"a broken registry":   {registry, "prices.json"},
		"no registry":         {nowhere, "reading model.litellm_model_registry"},
		"an unknown caching":  {caching, `set_cache_control is "always"`},
		"no script":           {with("scripted/" + unpriced + "x"), "prices.jsonx"},
		"a demo that is not":  {with("scripted/demo"), "demo"},
	} {
		_, err := Find(tc.s)
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error()+"\n"+fault.HintOf(err), tc.want) {
			t.Errorf("%s: %v (%v), hint %q; want %q", name, err, fault.KindOf(err), fault.HintOf(err), tc.want)
		}
	}
}

func TestWhatIsKnownOfTheCost(t *testing.T) {
	const key = "OPENAI_API_KEY=k"
	ignoring := with("openai/nobody-knows", key)
	ignoring.IgnoreCost = true
	prices := filepath.Join(t.TempDir(), "prices.json")
	if err := os.WriteFile(prices, []byte(`{"nobody-knows":{"input_cost_per_token":1,"output_cost_per_token":2}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	priced := with("openai/nobody-knows", key)
	priced.Registry = prices
	for name, tc := range map[string]struct {
		s      Settings
		cost   Cost
		priced bool
	}{
		"a price":           {with("openai/gpt-5", key), Known, true},
		"none":              {with("openai/nobody-knows", key), Unknown, false},
		"one's own":         {priced, Known, true},
		"not wanted":        {ignoring, Uncounted, false},
		"a server here":     {with("openai/nobody-knows", "OPENAI_BASE_URL=http://127.0.0.1:8000/v1"), Uncounted, false},
		"one that tells":    {with("openai/nobody-knows", key, "OPENAI_BASE_URL=https://openrouter.ai/api/v1"), Known, false},
		"one that looks so": {with("openai/nobody-knows", key, "OPENAI_BASE_URL=https://notopenrouter.ai/api/v1"), Unknown, false},
		"played":            {with("oracle"), Known, false},
	} {
		m, err := Find(tc.s)
		if err != nil || m.Cost != tc.cost || (m.Price != nil) != tc.priced {
			t.Errorf("%s: cost %v, price %v, %v", name, m.Cost, m.Price, err)
		}
	}
}

func TestTheProviderMayBeSetApartFromTheName(t *testing.T) {
	s := with("meta-llama/Llama-4", "OPENAI_BASE_URL=http://localhost:8000/v1")
	s.Provider = "openai"
	m, err := Find(s)
	if err != nil || m.Name != "meta-llama/Llama-4" {
		t.Errorf("%q, %v", m.Name, err)
	}
}

func TestModelsThatCacheOnlyWhereTold(t *testing.T) {
	for model, want := range map[string]string{"gpt-5": "", "anthropic/Claude-Opus-5": openai.CacheControlEnd, "x/SONNET": openai.CacheControlEnd} {
		if got := cachesWhereTold(model); got != want {
			t.Errorf("%s: %q", model, got)
		}
	}
}

func TestPlayedModelsGoOnBehindWhatIsHeard(t *testing.T) {
	demo := fstest.MapFS{"replies.yaml": {Data: []byte("a__1:\n- bash: echo first\n- bash: echo second\n")}}
	path := filepath.Join(t.TempDir(), "replies.yaml")
	if err := os.WriteFile(path, demo["replies.yaml"].Data, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"scripted/demo", "scripted/" + path, "oracle", "noop"} {
		s := with(name)
		s.Demo, s.ActionRegex = fs.FS(demo), "<do>(.*?)</do>"
		m, err := Find(s)
		if err != nil {
			t.Fatal(err)
		}
		models, err := m.Open(false)
		if err != nil {
			t.Fatal(err)
		}
		model, err := models(Attempt{ID: "a__1", Patch: "diff --git a/x b/x\n", Heard: 1})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := model.Generate(t.Context(), &llm.Request{})
		if err != nil && name != "noop" { // which has no second word
			t.Errorf("%s: %v", name, err)
		}
		if strings.HasPrefix(name, "scripted/") && (resp == nil || !strings.Contains(resp.Message.Text(), "<do>echo second</do>")) {
			t.Errorf("%s: %+v", name, resp)
		}
	}
}

func TestReadySaysWhomItIsFor(t *testing.T) {
	for want, env := range map[string][]string{
		"OPENAI_API_KEY is set, for api.openai.com":      {"OPENAI_API_KEY=k"},
		"OPENAI_API_KEY is set, for https://example.com": {"OPENAI_API_KEY=k", "OPENAI_BASE_URL=https://example.com"},
		"none needed for http://[::1]:8000/v1":           {"OPENAI_BASE_URL=http://[::1]:8000/v1"},
		"OPENAI_API_KEY is not set":                      {"OPENAI_BASE_URL=https://example.com"},
	} {
		text, ok := Providers()[0].Ready(with("", env...).Getenv)
		if text != want || ok != !strings.HasSuffix(want, "not set") {
			t.Errorf("%q: %q, %v", env, text, ok)
		}
	}
}
