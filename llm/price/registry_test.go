package price_test

import (
	"math"
	"strings"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/llm/price"
	"batch.example/batch/vocab"
)

// services are entries in the form of LiteLLM's registry, with round prices.
const services = `{
 "tiered": {"litellm_provider": "openai", "max_input_tokens": 922000, "max_output_tokens": "128000",
  "input_cost_per_token": 4e-06, "output_cost_per_token": 2e-05, "cache_read_input_token_cost": 4e-07,
  "cache_creation_input_token_cost": 5e-06, "cache_creation_input_token_cost_above_1hr": 8e-06,
  "input_cost_per_token_above_272k_tokens": 8e-06, "output_cost_per_token_above_272k_tokens": 3e-05,
  "input_cost_per_token_flex": 2e-06, "output_cost_per_token_flex": 1e-05, "cache_read_input_token_cost_flex": 2e-07,
  "cache_creation_input_token_cost_flex": 2.5e-06,
  "input_cost_per_token_above_272k_tokens_flex": 4e-06, "output_cost_per_token_above_272k_tokens_flex": 1.5e-05,
  "cache_read_input_token_cost_above_272k_tokens_flex": 4e-07, "cache_creation_input_token_cost_above_272k_tokens_flex": 5e-06,
  "input_cost_per_token_priority": 8e-06, "output_cost_per_token_priority": 4e-05, "cache_read_input_token_cost_priority": 8e-07,
  "cache_creation_input_token_cost_priority": 1e-05,
  "input_cost_per_token_batches": 2e-06, "output_cost_per_token_batches": 1e-05},
 "uncached": {"input_cost_per_token": 2e-06, "output_cost_per_token": 4e-06, "input_cost_per_token_batches": 1e-06, "output_cost_per_token_batches": 2e-06},
 "ranges": {"litellm_provider": "dashscope", "tiered_pricing": [
  {"input_cost_per_token": 1e-06, "output_cost_per_token": 5e-06, "cache_read_input_token_cost": 1e-07, "range": [0, 32000]},
  {"input_cost_per_token": 3e-06, "output_cost_per_token": 15e-06, "range": [32000.0, 128000.0]}]},
 "thinker": {"input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06, "output_cost_per_reasoning_token": 3e-06, "max_input_tokens": 1000},
 "by the request": {"input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06, "input_cost_per_request": 0.01},
 "half a range": {"tiered_pricing": [{"input_cost_per_token": 1e-06, "output_cost_per_token": 5e-06, "range": [1000, 32000]}]}
}`

func TestLoadReadsServicesAndRanges(t *testing.T) {
	prices, err := price.Load(strings.NewReader(services))
	if err != nil {
		t.Fatal(err)
	}
	short := vocab.Usage{Input: 100_000, Cached: 60_000, CacheWrite: 20_000, Output: 1_000}
	long := vocab.Usage{Input: 300_000, Cached: 200_000, CacheWrite: 60_000, Output: 1_000}
	hour, longHour := short, long
	hour.CacheHour, longHour.CacheHour = 5_000, 5_000
	for name, c := range map[string]struct {
		model, service string
		used           vocab.Usage
		want           float64 // in millionths; less than 0 if unknown
	}{
		"standard":                      {"tiered", "", short, 20_000*4 + 60_000*0.4 + 20_000*5 + 1_000*20},
		"an hour's cache":               {"tiered", "", hour, 20_000*4 + 60_000*0.4 + 15_000*5 + 5_000*8 + 1_000*20},
		"long":                          {"tiered", "", long, 40_000*8 + 200_000*0.4 + 60_000*5 + 1_000*30},
		"an hour's cache, long":         {"tiered", "", longHour, -1},
		"flex":                          {"tiered", "flex", short, 20_000*2 + 60_000*0.2 + 20_000*2.5 + 1_000*10},
		"flex, long":                    {"tiered", "flex", long, 40_000*4 + 200_000*0.4 + 60_000*5 + 1_000*15},
		"an hour's cache, flex":         {"tiered", "flex", hour, -1},
		"priority":                      {"tiered", "priority", short, 20_000*8 + 60_000*0.8 + 20_000*10 + 1_000*40},
		"priority, long":                {"tiered", "priority", long, -1},
		"a batch with unknown caches":   {"tiered", "batch", short, -1},
		"a batch":                       {"uncached", "batch", short, 100_000*1 + 1_000*2},
		"a range":                       {"ranges", "", vocab.Usage{Input: 32_000, Cached: 1_000, Output: 10}, 31_000*1 + 1_000*0.1 + 10*5},
		"the next range":                {"ranges", "", vocab.Usage{Input: 32_001, Cached: 1_000, Output: 10}, 32_001*3 + 10*15},
		"reasoning with its own price":  {"thinker", "", short, -1},
		"requests that cost":            {"by the request", "", short, -1},
		"no price for the first tokens": {"half a range", "", short, -1},
	} {
		got, ok := prices.Cost(c.used, c.service, c.model)
		if ok != (c.want >= 0) || ok && math.Abs(got-c.want/1e6) > 1e-12 {
			t.Errorf("%s: %v, %v; want %v", name, got, ok, c.want/1e6)
		}
	}
	if m := prices["tiered"]; m.Window != 922_000 || m.Output != 128_000 || m.Provider != "openai" || !m.Own {
		t.Errorf("got %+v", m)
	}
	if tokens, ok := prices.Window("thinker"); !ok || tokens != 1000 {
		t.Errorf("the window of a model without a price: %v, %v", tokens, ok)
	}
}

func TestLoadNamesTheProviderAsModelsDo(t *testing.T) {
	for litellm, want := range map[string]string{
		"bedrock_converse": "bedrock", "bedrock": "bedrock", "vertex_ai-anthropic_models": "vertex_ai",
		"vertex_ai": "vertex_ai", "text-completion-openai": "openai", "gemini": "gemini",
	} {
		prices, err := price.Load(strings.NewReader(`{"m": {"litellm_provider": "` + litellm + `", "max_input_tokens": 1}}`))
		if err != nil || prices["m"].Provider != want {
			t.Errorf("%s: %+v, %v; want provider %s", litellm, prices["m"], err, want)
		}
	}
}

func TestLoadNamesTheModelAndTheFieldThatAreWrong(t *testing.T) {
	for entry, field := range map[string]string{
		`{"input_cost_per_token": 1, "output_cost_per_token": 1, "output_cost_per_token_flex": "x", "input_cost_per_token_flex": 1}`: "output_cost_per_token_flex",
		`{"input_cost_per_token": 1, "output_cost_per_token": 1, "cache_creation_input_token_cost_above_1hr": -1}`:                   "cache_creation_input_token_cost_above_1hr",
		`{"max_input_tokens": "many"}`: "max_input_tokens",
		`{"max_output_tokens": -1}`:    "max_output_tokens",
		`{"litellm_provider": 5}`:      "litellm_provider",
		`{"tiered_pricing": 5}`:        "tiered_pricing",
		`{"tiered_pricing": [{"input_cost_per_token": 1, "output_cost_per_token": 1, "range": "all"}]}`: "range",
		`{"input_cost_per_request": {}}`:          "input_cost_per_request",
		`{"output_cost_per_reasoning_token": -1}`: "output_cost_per_reasoning_token",
	} {
		_, err := price.Load(strings.NewReader(`{"gpt-x": ` + entry + `}`))
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), field) || !strings.Contains(err.Error(), `"gpt-x"`) {
			t.Errorf("%s: %v, want a Usage fault that names %s and the model", entry, err, field)
		}
	}
}
