package price

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"batch.example/batch/vocab"
)

// day is a day on which every price of the table is valid, except for retired models.
var day = time.Date(2026, time.November, 18, 12, 0, 0, 0, time.UTC)

// Computed by hand, in millionths of a dollar: tokens times dollars per million.
func TestCostOfCallsToEachProvider(t *testing.T) {
	known := KnownAt(day)
	for _, c := range []struct {
		name, model, service string
		used                 vocab.Usage
		want                 float64
	}{
		{
			"OpenAI: reasoning is output", "openai/gpt-5-2025-08-07", "default",
			vocab.Usage{Input: 10_000, Output: 3_000, Reasoning: 2_500},
			10_000*1.25 + 3_000*10,
		},
		{
			"OpenAI: cached input", "openai/gpt-5", "",
			vocab.Usage{Input: 100_000, Cached: 80_000, Output: 2_000, Reasoning: 1_500},
			20_000*1.25 + 80_000*0.125 + 2_000*10,
		},
		{
			"OpenAI: flex", "openai/gpt-5", "flex",
			vocab.Usage{Input: 100_000, Cached: 80_000, Output: 2_000},
			20_000*0.625 + 80_000*0.0625 + 2_000*5,
		},
		{
			"OpenAI: batch", "openai/gpt-5", "batch",
			vocab.Usage{Input: 100_000, Output: 2_000},
			100_000*0.625 + 2_000*5,
		},
		{
			"OpenAI: priority", "openai/gpt-5.5", "priority",
			vocab.Usage{Input: 100_000, Cached: 50_000, Output: 1_000},
			50_000*12.5 + 50_000*1.25 + 1_000*75,
		},
		{
			"OpenAI: the limit itself is short", "openai/gpt-5.4", "",
			vocab.Usage{Input: 272_000, Cached: 200_000, Output: 1_000},
			72_000*2.5 + 200_000*0.25 + 1_000*15,
		},
		{
			"OpenAI: long", "openai/gpt-5.4", "",
			vocab.Usage{Input: 272_001, Cached: 200_000, Output: 1_000},
			72_001*5 + 200_000*0.5 + 1_000*22.5,
		},
		{
			"OpenAI: writes to the cache, long, flex", "openai/gpt-6-astra", "flex",
			vocab.Usage{Input: 300_000, Cached: 200_000, CacheWrite: 90_000, Output: 4_000},
			10_000*10 + 200_000*1 + 90_000*12.5 + 4_000*37.5,
		},
		{
			"OpenAI: priority, by its new name, long", "openai/gpt-6-luna", "fast",
			vocab.Usage{Input: 300_000, Cached: 200_000, CacheWrite: 90_000, Output: 4_000},
			10_000*0.4 + 200_000*0.04 + 90_000*0.5 + 4_000*1.5,
		},
		{
			"OpenAI: an older snapshot", "openai/gpt-4o-2024-05-13", "",
			vocab.Usage{Input: 1_000, Cached: 500, Output: 100},
			1_000*5 + 100*15,
		},

		{
			"Anthropic: both caches", "anthropic/claude-opus-4-8", "standard",
			vocab.Usage{Input: 150_000, Cached: 100_000, CacheWrite: 40_000, CacheHour: 15_000, Output: 2_000},
			10_000*5 + 100_000*0.5 + 25_000*6.25 + 15_000*10 + 2_000*25,
		},
		{
			"Anthropic: up to 200k", "anthropic/claude-sonnet-4-5-20250929", "standard",
			vocab.Usage{Input: 200_000, Cached: 150_000, CacheWrite: 50_000, CacheHour: 20_000, Output: 1_000},
			150_000*0.3 + 30_000*3.75 + 20_000*6 + 1_000*15,
		},
		{
			"Anthropic: above 200k with the caches", "anthropic/claude-sonnet-4-5", "standard",
			vocab.Usage{Input: 200_001, Cached: 150_000, CacheWrite: 50_000, CacheHour: 20_000, Output: 1_000},
			1*6 + 150_000*0.6 + 30_000*7.5 + 20_000*12 + 1_000*22.5,
		},
		{
			"Anthropic: a batch", "anthropic/claude-sonnet-4-6", "batch",
			vocab.Usage{Input: 10_000, Cached: 4_000, CacheWrite: 2_000, CacheHour: 2_000, Output: 500},
			4_000*1.5 + 4_000*0.15 + 2_000*3 + 500*7.5,
		},
		{
			"Anthropic: fast", "anthropic/claude-opus-5-5", "fast",
			vocab.Usage{Input: 10_000, Cached: 4_000, CacheWrite: 2_000, Output: 500},
			4_000*8 + 4_000*0.4 + 2_000*10 + 500*40,
		},
		{
			"Anthropic: one that is short up to 100k", "anthropic/claude-haiku-5-5", "",
			vocab.Usage{Input: 120_000, Cached: 110_000, Output: 1_000},
			10_000*0.5 + 110_000*0.05 + 1_000*2.5,
		},

		{
			"Gemini: up to 200k", "gemini/gemini-2.5-pro", "",
			vocab.Usage{Input: 200_000, Cached: 50_000, Output: 9_000, Reasoning: 8_000},
			150_000*1.25 + 50_000*0.125 + 9_000*10,
		},
		{
			"Gemini: above 200k, with thoughts", "gemini/gemini-3.1-pro-preview", "ON_DEMAND",
			vocab.Usage{Input: 250_000, Cached: 100_000, Output: 9_000, Reasoning: 8_000},
			150_000*4 + 100_000*0.4 + 9_000*18,
		},
		{
			"Gemini: priority, above 200k", "vertex_ai/gemini-3.1-pro-preview", "ON_DEMAND_PRIORITY",
			vocab.Usage{Input: 250_000, Cached: 100_000, Output: 9_000},
			150_000*7.2 + 100_000*0.72 + 9_000*32.4,
		},

		{"Mistral", "mistral/devstral-2512", "", vocab.Usage{Input: 50_000, Cached: 30_000, Output: 700}, 20_000*0.4 + 30_000*0.04 + 700*2},
		{"xAI, long", "xai/grok-4.5", "", vocab.Usage{Input: 210_000, Cached: 200_000, Output: 500}, 10_000*4 + 200_000*0.6 + 500*12},
		{"xAI: the limit itself is long", "xai/grok-4.7", "", vocab.Usage{Input: 200_000, Cached: 150_000, Output: 500}, 50_000*4 + 150_000*1 + 500*12},
		{"Groq", "groq/openai/gpt-oss-120b", "on_demand", vocab.Usage{Input: 9_000, Cached: 1_000, Output: 100}, 8_000*0.15 + 1_000*0.075 + 100*0.6},
		{"Moonshot", "moonshot/kimi-k3", "", vocab.Usage{Input: 9_000, Cached: 8_000, Output: 100}, 1_000*3 + 8_000*0.3 + 100*15},
		{"Qwen, writing", "dashscope/qwen3.7-max", "", vocab.Usage{Input: 9_000, Cached: 4_000, CacheWrite: 3_000, Output: 100}, 2_000*2.5 + 4_000*0.5 + 3_000*3.125 + 100*7.5},
		{"Qwen, the third length", "dashscope/qwen3-coder-plus", "", vocab.Usage{Input: 200_000, Output: 100}, 200_000*3 + 100*15},
		{"GLM", "zai/glm-4.6", "", vocab.Usage{Input: 9_000, Cached: 4_000, Output: 100}, 5_000*0.6 + 4_000*0.11 + 100*2.2},
		{"a free one", "zai/glm-4.7-flash", "", vocab.Usage{Input: 9_000, Output: 100}, 0},
		{"MiniMax, long", "minimax/MiniMax-M3", "", vocab.Usage{Input: 600_000, Cached: 500_000, Output: 100}, 100_000*0.6 + 500_000*0.12 + 100*2.4},
		{
			"Bedrock, in one geography", "bedrock/us.anthropic.claude-sonnet-4-6", "",
			vocab.Usage{Input: 9_000, Cached: 4_000, CacheWrite: 2_000, CacheHour: 1_000, Output: 100},
			3_000*3.3 + 4_000*0.33 + 1_000*4.125 + 1_000*6.6 + 100*16.5,
		},
		{"Vertex", "vertex_ai/claude-haiku-4-5@20251001", "", vocab.Usage{Input: 9_000, Cached: 4_000, Output: 100}, 5_000*1 + 4_000*0.1 + 100*5},
		{"Azure", "azure/gpt-5-mini", "", vocab.Usage{Input: 9_000, Cached: 4_000, Output: 100}, 5_000*0.25 + 4_000*0.025 + 100*2},
	} {
		if got, ok := known.Cost(c.used, c.service, c.model); !ok || math.Abs(got-c.want/1e6) > 1e-12 {
			t.Errorf("%s: %v, %v; want %v", c.name, got, ok, c.want/1e6)
		}
	}
}

// DeepSeek's prices depend on the time of day, so the user has to provide them.
func TestCostOfADeepSeekCacheHit(t *testing.T) {
	own, err := Load(strings.NewReader(`{"deepseek/deepseek-v4-pro": {"litellm_provider": "deepseek",
		"input_cost_per_token": 4.35e-07, "input_cost_per_token_cache_hit": 3.625e-09, "output_cost_per_token": 8.7e-07}}`))
	if err != nil {
		t.Fatal(err)
	}
	used := vocab.Usage{Input: 100_000, Cached: 90_000, Output: 1_000}
	if _, ok := KnownAt(day).Cost(used, "", "deepseek/deepseek-v4-pro"); ok {
		t.Error("a price that depends on the time of day is known")
	}
	const want = (10_000*0.435 + 90_000*0.003625 + 1_000*0.87) / 1e6
	prices := KnownAt(day).With(own)
	if got, ok := prices.Cost(used, "", "deepseek/deepseek-v4-pro"); !ok || math.Abs(got-want) > 1e-12 {
		t.Errorf("%v, %v; want %v", got, ok, want)
	}
	if tokens, ok := prices.Window("deepseek/deepseek-v4-pro"); tokens != 1_000_000 || !ok {
		t.Errorf("with a registry without a window, got the window %v, %v; want the table's", tokens, ok)
	}
}

func TestCostIsUnknownRatherThanWrong(t *testing.T) {
	known := KnownAt(day)
	small := vocab.Usage{Input: 10, Output: 1}
	for name, c := range map[string]struct {
		model, service string
		used           vocab.Usage
	}{
		"a service without rates":                {"openai/gpt-4o", "flex", small},
		"an unheard-of service":                  {"openai/gpt-5", "scale", small},
		"committed capacity":                     {"anthropic/claude-opus-4-8", "priority", small},
		"throughput that was bought":             {"vertex_ai/gemini-2.5-pro", "PROVISIONED_THROUGHPUT", small},
		"a long call by a service for short":     {"openai/gpt-5.4", "priority", vocab.Usage{Input: 300_000, Output: 1}},
		"a model that was retired":               {"moonshot/kimi-k2-thinking", "", small},
		"an hour's cache at no known rate":       {"anthropic/claude-opus-4-8", "fast", vocab.Usage{Input: 10, CacheWrite: 5, CacheHour: 5}},
		"an hour's cache where there is none":    {"openai/gpt-5", "", vocab.Usage{Input: 10, CacheWrite: 5, CacheHour: 5}},
		"prices by the time of day":              {"deepseek/deepseek-v4-pro", "", small},
		"another host of the same model":         {"together_ai/openai/gpt-oss-120b", "", small},
		"a server of one's own":                  {"hosted_vllm/gpt-5", "", small},
		"a maker's model that others price":      {"openrouter/moonshotai/kimi-k3", "", small},
		"a model that only hosts have":           {"gpt-oss-120b", "", small},
		"a variant":                              {"openrouter/openai/gpt-5:free", "", small},
		"a newer model of a name":                {"anthropic/claude-opus-4", "", small},
		"an alias that moves":                    {"anthropic/claude-opus-latest", "", small},
		"a region that the name does not say":    {"bedrock/anthropic.claude-opus-4-8", "", small},
		"a profile of a region":                  {"bedrock/us-west-2/anthropic.claude-opus-4-8", "", small},
		"a name with a prefix of a model's name": {"openai/gpt-5.4-mini-turbo", "", small},
	} {
		if got, ok := known.Cost(c.used, c.service, c.model); ok {
			t.Errorf("%s: %s costs %v", name, c.model, got)
		}
	}
}

func TestModelsAreFoundAsLiteLLMAndOpenRouterNameThem(t *testing.T) {
	known := KnownAt(day)
	for name, want := range map[string]string{
		"gpt-5": "openai/gpt-5", "openai/gpt-5": "openai/gpt-5", "azure/gpt-5": "openai/gpt-5",
		"openrouter/openai/gpt-5": "openai/gpt-5", "litellm_proxy/openai/gpt-5": "openai/gpt-5",
		"claude-opus-4-5-20251101": "anthropic/claude-opus-4-5", "openai/claude-opus-4-5": "anthropic/claude-opus-4-5",
		"openrouter/anthropic/claude-opus-4.5": "anthropic/claude-opus-4-5", "openai/anthropic/claude-opus-4.5": "anthropic/claude-opus-4-5",
		"openrouter/google/gemini-2.5-pro": "gemini/gemini-2.5-pro", "gemini-2.5-pro": "gemini/gemini-2.5-pro",
		"openrouter/x-ai/grok-4.3":                                      "xai/grok-4.3",
		"vertex_ai/claude-opus-4-8@default":                             "vertex_ai/claude-opus-4-8",
		"bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0":          "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
		"bedrock/converse/us.anthropic.claude-sonnet-4-5-20250929-v1:0": "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
	} {
		m, ok := known.Find(name)
		if !ok || m.Price != known[want].Price {
			t.Errorf("%s: found %+v, %v; want %s", name, m, ok, want)
		}
	}
}

func TestTheUsersRegistryWins(t *testing.T) {
	own, err := Load(strings.NewReader(`{
		"gpt-5": {"input_cost_per_token": 1, "output_cost_per_token": 2, "litellm_provider": "openai"},
		"anthropic/claude-opus-5": {"max_input_tokens": 500000},
		"my-alias": {"input_cost_per_token": 7, "output_cost_per_token": 7},
		"qwen-max": {"input_cost_per_token": 3, "output_cost_per_token": 3},
		"glm-5": {"max_input_tokens": 9000}}`))
	if err != nil {
		t.Fatal(err)
	}
	prices := KnownAt(day).With(own)
	for _, names := range [][]string{{"gpt-5"}, {"openai/gpt-5"}, {"openai/gpt-5-2025-08-07"}, {"openai/gpt-5-2025-08-07", "openai/gpt-5"}, {"openrouter/openai/gpt-5"}} {
		if p, ok := prices.Lookup(names...); !ok || p.Input != 1 {
			t.Errorf("%q: %+v, %v; want the user's price", names, p, ok)
		}
	}
	for _, name := range []string{"qwen-max", "dashscope/qwen-max", "hosted_vllm/qwen-max"} {
		if p, ok := prices.Lookup(name); !ok || p.Input != 3 {
			t.Errorf("%s: %+v, %v; want the user's price, which applies to any provider", name, p, ok)
		}
	}
	if got := prices["dashscope/qwen-max"].Provider; got != "dashscope" {
		t.Errorf("dashscope/qwen-max has the provider %q, want dashscope", got)
	}
	if p, ok := prices.Lookup("hosted_vllm/glm-5"); ok {
		t.Errorf("hosted_vllm/glm-5 has the price %+v, want none", p)
	}
	if p, ok := prices.Lookup("openai/gpt-5.1", "openai/my-alias"); !ok || p.Input != 7 {
		t.Errorf("the price of the model that was asked: %+v, %v; want the user's", p, ok)
	}
	if m, _ := prices.Find("anthropic/claude-opus-5"); m.Window != 500_000 || m.Price == nil || m.Price.Input != 5/1e6 || m.Output != 128_000 {
		t.Errorf("with the user's own window: %+v", m)
	}
	if p, ok := prices.Lookup("openai/gpt-5.1"); !ok || p.Input != 1.25/1e6 {
		t.Errorf("another model: %+v, %v", p, ok)
	}
}

func TestPricesEndWithTheirPromotion(t *testing.T) {
	last := time.Date(2026, time.December, 31, 23, 59, 0, 0, time.UTC)
	const model = "gemini/gemini-3.8-flash"
	if _, ok := KnownAt(last).Lookup(model); !ok {
		t.Error("no price on its last day")
	}
	if p, ok := KnownAt(last.Add(time.Hour)).Lookup(model); ok {
		t.Errorf("afterwards it is %+v", p)
	}
	if tokens, ok := KnownAt(last.Add(time.Hour)).Window(model); !ok || tokens != 1_048_576 {
		t.Errorf("afterwards it reads %v, %v", tokens, ok)
	}
}

func TestEveryEntryOfTheTableIsWellFormed(t *testing.T) {
	table, err := parse(known)
	if err != nil {
		t.Fatal(err)
	}
	if len(table) < 150 {
		t.Errorf("only %d models", len(table))
	}
	rates := func(name string, r vocab.Rates) {
		free := r == vocab.Rates{}
		if !free && (r.Input <= 0 || r.CachedInput <= 0 || r.CachedInput > r.Input || r.Output <= r.Input || r.Output > 1e-3) ||
			r.CacheWrite != 0 && (r.CacheWrite < r.Input/2 || r.CacheWrite > 1.5*r.Input) ||
			r.CacheHour != 0 && math.Abs(r.CacheHour-2*r.Input) > 1e-12 {
			t.Errorf("%s: rates %+v", name, r)
		}
	}
	for name, m := range table {
		if !strings.HasPrefix(name, m.Provider+"/") || m.Window < 8_000 || m.Own ||
			!strings.HasPrefix(m.Source, "https://") || m.Date < "2026-01-01" || m.Date > "2026-12-31" {
			t.Errorf("%s: %+v", name, m)
		}
		if m.Price == nil {
			continue
		}
		for service, p := range m.Price.Services {
			if !slices.Contains([]string{"batch", "fast", "flex", "priority"}, service) {
				t.Errorf("%s has the service %q", name, service)
			}
			rates(name+" "+service, p.Rates)
			for _, tier := range p.Tiers {
				rates(name+" "+service, tier.Rates)
			}
		}
		rates(name, m.Price.Rates)
		for _, tier := range m.Price.Tiers {
			rates(name, tier.Rates)
			if tier.Input <= m.Price.Input || tier.Output <= m.Price.Output {
				t.Errorf("%s costs less above %d tokens", name, tier.Above)
			}
		}
	}
	before := ""
	for line := range strings.Lines(known) {
		name, _, _ := strings.Cut(line, " ")
		if name == "@" || strings.TrimSpace(line) == "" {
			before = ""
		} else if !strings.HasPrefix(line, "#") {
			if name <= before {
				t.Errorf("%s comes after %s", name, before)
			}
			before = name
		}
	}
}

func TestABrokenTableIsRefused(t *testing.T) {
	const head = "@ p 2026-01-01 https://p\n"
	for text, want := range map[string]string{
		"m 1 1 -":                                 "no provider yet",
		"@ p":                                     "want @ PROVIDER DATE SOURCE",
		"@ p yesterday https://p":                 "yesterday",
		head + "m 1 1":                            "WINDOW OUTPUT RATES",
		head + "m 1 1 -\nm 1 1 -":                 "twice",
		head + "m x 1 -":                          `"x"`,
		head + "m 1 1 1,1,1":                      "3 rates, want 5",
		head + "m 1 1 1,-,-,-,-":                  "input and output",
		head + "m 1 1 1,-,-,-,-1":                 "a rate is -1",
		head + "m 1 1 NaN,-,-,-,1":                "a rate is NaN",
		head + "m 1 1 - flex:1,-,-,-,1":           "without a price",
		head + "m 1 1 1,-,-,-,1 flex>5:1,-,-,-,1": "shorter calls",
		head + "m 1 1 1,-,-,-,1 >5:1,-,-,-,1 >4:1,-,-,-,1": "not in order",
		head + "m 1 1 1,-,-,-,1 until=soon":                "soon",
	} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzTable(f *testing.F) {
	f.Add(known)
	f.Add("@ p 2026-01-01 https://p\nm 1 - 1,-,-,-,1 >5:1,-,-,-,1 flex:1,-,-,-,1 flex>5:1,-,-,-,1 until=2026-01-01")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := parse(text)
		if err != nil {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(table)) {
			if m := table[name]; m.Window < 0 || m.Output < 0 {
				t.Errorf("%q: %+v", name, m)
			}
			if cost, ok := table.Cost(vocab.Usage{Input: 9, Cached: 3, CacheWrite: 3, CacheHour: 1, Output: 2}, "flex", name); ok && (cost < 0 || math.IsNaN(cost)) {
				t.Errorf("%q costs %v", name, cost)
			}
		}
	})
}
