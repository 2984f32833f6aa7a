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
 "other lengths": {"input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06, "input_cost_per_token_above_32000_tokens": 3e-06, "output_cost_per_token_above_32000_tokens": 6e-06},
 "mixed": {"input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06, "cache_read_input_token_cost": 5e-07,
  "input_cost_per_token_above_64k_tokens": 2e-06, "output_cost_per_token_above_100500_tokens": 5e-06, "cache_read_input_token_cost_above_128k_tokens": 8e-07},
 "both": {"input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06, "tiered_pricing": [
  {"input_cost_per_token": 1e-06, "range": [0, 32000]}, {"input_cost_per_token": 3e-06, "output_cost_per_token": 6e-06, "range": [32000, 256000]}]},
 "free writes": {"input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06, "cache_creation_input_token_cost": 0, "cache_creation_input_token_cost_above_1hr": "0"},
 "in quotes": {"input_cost_per_token": "1e-06", "output_cost_per_token": " 2e-06 "},
 "half a tier": {"input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06, "input_cost_per_token_flex": 1e-06, "output_cost_per_token_flex": 2e-06, "input_cost_per_token_above_64k_tokens_flex": 2e-06},
 "another member": {"input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06, "input_cost_per_token_at_night": 9e-06},
 "two ways": {"input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06, "input_cost_per_token_above_64k_tokens": 2e-06, "tiered_pricing": [{"range": [0, 5]}]},
 "two spellings": {"input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06, "input_cost_per_token_above_200k_tokens": 2e-06, "input_cost_per_token_above_200000_tokens": 3e-06},
 "output beside ranges": {"input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06, "output_cost_per_token_above_64k_tokens": 2e-06, "tiered_pricing": [{"range": [0, 5]}]},
 "a hidden member": {"input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06, "output_cost_per_token_image_mode": 2e-05},
 "long reasoning": {"input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06, "output_cost_per_reasoning_token": 2e-06, "output_cost_per_reasoning_token_above_64k_tokens": 9e-06},
 "with images": {"input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06, "input_cost_per_image": 5, "output_cost_per_audio_token": 5, "search_context_cost_per_query": {"a": 1}, "input_cost_per_token_flex": null, "input_cost_per_token_above_1k_tokens": null},
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
		"a length in tokens":            {"other lengths", "", vocab.Usage{Input: 32_001, Output: 10}, 32_001*3 + 10*6},
		"at that length":                {"other lengths", "", vocab.Usage{Input: 32_000, Output: 10}, 32_000*1 + 10*2},
		"mixed lengths, one":            {"mixed", "", vocab.Usage{Input: 70_000, Cached: 10_000, Output: 10}, 60_000*2 + 10_000*0.5 + 10*2},
		"mixed lengths, two":            {"mixed", "", vocab.Usage{Input: 110_000, Cached: 10_000, Output: 10}, 100_000*2 + 10_000*0.5 + 10*5},
		"mixed lengths, three":          {"mixed", "", vocab.Usage{Input: 130_000, Cached: 10_000, Output: 10}, 120_000*2 + 10_000*0.8 + 10*5},
		"ranges beside a price":         {"both", "", vocab.Usage{Input: 144_564, Output: 45}, 144_564*3 + 45*6},
		"what a range leaves out":       {"both", "", vocab.Usage{Input: 1_000, Output: 45}, 1_000*1 + 45*2},
		"writes without a price":        {"uncached", "", vocab.Usage{Input: 100_000, CacheWrite: 50_000}, 100_000 * 2},
		"writes that are free":          {"free writes", "", vocab.Usage{Input: 1_000, CacheWrite: 900, CacheHour: 100, Output: 10}, 100*1 + 10*2},
		"numbers in quotes":             {"in quotes", "", vocab.Usage{Input: 1_000, Output: 10}, 1_000*1 + 10*2},
		"half a tier of a service":      {"half a tier", "flex", vocab.Usage{Input: 70_000, Output: 10}, -1},
		"an unknown member":             {"another member", "", short, -1},
		"lengths and ranges":            {"two ways", "", short, -1},
		"one length in two spellings":   {"two spellings", "", vocab.Usage{Input: 200_001, Output: 10}, 200_001*3 + 10*2},
		"a length beside ranges":        {"output beside ranges", "", short, -1},
		"a member like another medium":  {"a hidden member", "", short, -1},
		"reasoning with another tier":   {"long reasoning", "", short, -1},
		"other media":                   {"with images", "", vocab.Usage{Input: 2_000, Output: 10}, 2_000*1 + 10*2},
		"no price for the first tokens": {"half a range", "", short, -1},
	} {
		got, ok := prices.Cost(c.used, c.service, c.model)
		if ok != (c.want >= 0) || ok && math.Abs(got-c.want/1e6) > 1e-12 {
			t.Errorf("%s: %v, %v; want %v", name, got, ok, c.want/1e6)
		}
	}
	for name, member := range map[string]string{
		"another member": "input_cost_per_token_at_night", "two ways": "input_cost_per_token_above_64k_tokens",
		"by the request": "input_cost_per_request", "long reasoning": "output_cost_per_reasoning_token_above_64k_tokens",
	} {
		if m := prices[name]; !strings.Contains(m.Refused, member) {
			t.Errorf("%s: refused %q, want it to name %s", name, m.Refused, member)
		}
	}
	if m := prices["with images"]; m.Refused != "" {
		t.Errorf("other media: %s", m.Refused)
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
		`{"input_cost_per_token":"much","output_cost_per_token":1}`:                                                                  "input_cost_per_token",
		`{"input_cost_per_token":1,"output_cost_per_token":1,"input_cost_per_token_above_1k_tokens":-1}`:                             "input_cost_per_token_above_1k_tokens",
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

func TestLoadRefusesWhatIsNoRegistry(t *testing.T) {
	for text, want := range map[string]string{`[]`: "reading model prices", `{"m":`: "unexpected EOF"} {
		if _, err := price.Load(strings.NewReader(text)); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want a Usage fault with %q", text, err, want)
		}
	}
}

// Whatever its members are called, a price is never below the lowest price in the entry.
func FuzzRegistry(f *testing.F) {
	f.Add(services)
	f.Add(registry)
	f.Add(`{"m":null}`)
	f.Add(`{"m": {"input_cost_per_token": 1, "output_cost_per_token": 1, "input_cost_per_token_above_5k_tokens_flex": 2}}`)
	f.Fuzz(func(t *testing.T, text string) {
		prices, err := price.Load(strings.NewReader(text))
		if err != nil {
			if fault.KindOf(err) != fault.Usage {
				t.Errorf("%v", err)
			}
			return
		}
		for name, m := range prices {
			if m.Price == nil {
				continue
			}
			short, _ := m.Price.Cost(vocab.Usage{Input: 1, Output: 1}, "")
			if math.IsNaN(short) || math.IsInf(short, 0) || short < 0 || m.Refused != "" {
				t.Errorf("%s costs %v, refused %q", name, short, m.Refused)
			}
			for _, service := range []string{"flex", "priority", "batch"} {
				used := vocab.Usage{Input: 9, Cached: 3, CacheWrite: 3, CacheHour: 1, Output: 2}
				if cost, ok := prices.Cost(used, service, name); ok && (cost < 0 || math.IsNaN(cost)) {
					t.Errorf("%s costs %v as %s, want at least 0", name, cost, service)
				}
			}
		}
	})
}
