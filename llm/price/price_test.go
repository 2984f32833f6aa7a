package price_test

import (
	"math"
	"strings"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/llm/price"
	"batch.example/batch/vocab"
)

const registry = `{
 "sample_spec": {"input_cost_per_token": 0.0, "output_cost_per_token": 0.0, "max_tokens": "text"},
 "m": {"input_cost_per_token": 1e-6, "cache_read_input_token_cost": 1e-7, "output_cost_per_token": 2e-6, "litellm_provider": "openai"},
 "m-2024-05-13": {"input_cost_per_token": 5e-6, "output_cost_per_token": 5e-6},
 "openrouter/a/m": {"input_cost_per_token": 9e-6, "output_cost_per_token": 9e-6},
 "openai/p": {"input_cost_per_token": 3e-6, "output_cost_per_token": 3e-6},
 "free": {"input_cost_per_token": 0, "output_cost_per_token": 0},
 "painter": {"output_cost_per_image": 0.04}
}`

func TestCostFindsTheModel(t *testing.T) {
	prices, err := price.Load(strings.NewReader(registry))
	if err != nil {
		t.Fatal(err)
	}
	use := vocab.Usage{Input: 1000, Cached: 400, Output: 100, Reasoning: 50}
	const m = 600e-6 + 400e-7 + 200e-6
	tests := []struct {
		model string
		cost  float64
		known bool
	}{
		{"m", m, true},
		{"openai/m", m, true},
		{"openrouter/openai/m", m, true},
		{"openrouter/a/m", 1100 * 9e-6, true},
		{"m-2025-01-02", m, true},
		{"azure/m-20250102", m, true},
		{"m@20250102", m, true},
		{"m-2024-05-13", 1100 * 5e-6, true},
		{"openai/m-2024-05-13", 1100 * 5e-6, true},
		{"p", 1100 * 3e-6, true},
		{"free", 0, true},
		{"m:free", 0, false},
		{"m-mini", 0, false},
		{"painter", 0, false},
		{"sample_spec", 0, false},
		{"", 0, false},
	}
	for _, tt := range tests {
		if cost, known := prices.Cost(use, "", tt.model); known != tt.known || math.Abs(cost-tt.cost) > 1e-12 {
			t.Errorf("%q: %v %v, want %v %v", tt.model, cost, known, tt.cost, tt.known)
		}
	}
	if _, known := price.Table(nil).Cost(use, "", "m"); known {
		t.Error("empty prices have a price for a model")
	}
}

// tiered are entries in the form of LiteLLM's registry.
const tiered = `{
 "claude-sonnet-4-5": {"input_cost_per_token": 3e-06, "output_cost_per_token": 1.5e-05,
  "cache_creation_input_token_cost": 3.75e-06, "cache_read_input_token_cost": 3e-07,
  "cache_creation_input_token_cost_above_1hr": 6e-06,
  "input_cost_per_token_above_200k_tokens": 6e-06, "output_cost_per_token_above_200k_tokens": 2.25e-05,
  "cache_creation_input_token_cost_above_200k_tokens": 7.5e-06, "cache_read_input_token_cost_above_200k_tokens": 6e-07},
 "gemini-2.5-pro": {"input_cost_per_token": 1.25e-06, "output_cost_per_token": 1e-05, "cache_read_input_token_cost": 1.25e-07,
  "input_cost_per_token_above_200k_tokens": 2.5e-06, "output_cost_per_token_above_200k_tokens": 1.5e-05,
  "cache_read_input_token_cost_above_200k_tokens": 2.5e-07, "input_cost_per_token_above_200k_tokens_priority": 9},
 "steps": {"input_cost_per_token": 1e-06, "output_cost_per_token": 1e-05,
  "input_cost_per_token_above_256k_tokens": 4e-06, "input_cost_per_token_above_128k_tokens": 2e-06}
}`

// Computed by hand: (fresh, read from the cache, written to it, output), each at its rate.
func TestCostOfCachesAndLongContexts(t *testing.T) {
	prices, err := price.Load(strings.NewReader(tiered))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		model string
		used  vocab.Usage
		want  float64
	}{
		// 30000 * 3 + 100000 * 0.3 + 20000 * 3.75 + 1000 * 15, in millionths
		{"claude-sonnet-4-5", vocab.Usage{Input: 150000, Cached: 100000, CacheWrite: 20000, Output: 1000}, 0.21},
		// 200000 * 3 + 1000 * 15: the limit itself counts as below
		{"claude-sonnet-4-5", vocab.Usage{Input: 200000, Output: 1000}, 0.615},
		// 1 * 6 + 150000 * 0.6 + 50000 * 7.5 + 1000 * 22.5: all input counts for the length
		{"claude-sonnet-4-5", vocab.Usage{Input: 200001, Cached: 150000, CacheWrite: 50000, Output: 1000}, 0.487506},
		// 100000 * 2.5 + 200000 * 0.25 + 2000 * 15
		{"gemini-2.5-pro", vocab.Usage{Input: 300000, Cached: 200000, Output: 2000, Reasoning: 1500}, 0.33},
		// 50000 * 1.25 + 50000 * 1.25 + 0: without a price for writing, it costs as other input
		{"gemini-2.5-pro", vocab.Usage{Input: 100000, CacheWrite: 50000}, 0.125},
		// 1000 * 1 + 10 * 10; 200000 * 2 + 10 * 10; 300000 * 4 + 10 * 10
		{"steps", vocab.Usage{Input: 1000, Cached: 500, Output: 10}, 0.0011},
		{"steps", vocab.Usage{Input: 200000, Cached: 500, Output: 10}, 0.4001},
		{"steps", vocab.Usage{Input: 300000, Cached: 500, Output: 10}, 1.2001},
	} {
		if got, ok := prices.Cost(c.used, "", c.model); !ok || math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s, %+v: %v %v, want %v", c.model, c.used, got, ok, c.want)
		}
	}
	if _, err := price.Load(strings.NewReader(
		`{"m":{"input_cost_per_token":1,"output_cost_per_token":1,"input_cost_per_token_above_1k_tokens":-1}}`)); fault.KindOf(err) != fault.Usage {
		t.Errorf("a tier below nothing: %v, want a Usage fault", err)
	}
	none, err := price.Load(strings.NewReader(
		`{"m":{"input_cost_per_token":1,"output_cost_per_token":1,"input_cost_per_token_above_1k_tokens":null}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := none.Cost(vocab.Usage{Input: 2000}, "", "m"); !ok || got != 2000 {
		t.Errorf("under a tier that is null: %v, %v", got, ok)
	}
}

func TestLoadPricesNamesWhatIsWrong(t *testing.T) {
	for data, want := range map[string]string{
		`[]`: "reading model prices",
		`{"m":{"input_cost_per_token":"much","output_cost_per_token":1}}`: "input_cost_per_token",
		`{"m":{"input_cost_per_token":-1,"output_cost_per_token":1}}`:     `"m"`,
		`{"m":`: "unexpected EOF",
	} {
		_, err := price.Load(strings.NewReader(data))
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want a usage fault with %q", data, err, want)
		}
	}
}

func FuzzLoadPrices(f *testing.F) {
	f.Add(registry)
	f.Add(tiered)
	f.Add(services)
	f.Add(`{"m":null}`)
	f.Fuzz(func(t *testing.T, data string) {
		prices, err := price.Load(strings.NewReader(data))
		if err != nil && fault.KindOf(err) != fault.Usage {
			t.Errorf("error without blame: %v, want no error, or a Usage fault", err)
		}
		for name := range prices {
			for _, service := range []string{"", "flex", "priority", "batch"} {
				cost, ok := prices.Cost(vocab.Usage{Input: 9, Cached: 3, CacheWrite: 3, CacheHour: 1, Output: 2}, service, name)
				if ok && (cost < 0 || math.IsNaN(cost)) {
					t.Errorf("%q costs %v, want at least 0", name, cost)
				}
			}
		}
	})
}
