package price_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/llm/price"
)

func loaded(t *testing.T, text string) price.Table {
	t.Helper()
	table, err := price.Load(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestPricesAreComparedByModelAndMember(t *testing.T) {
	here := loaded(t, `{
		"openai/a": {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6, "cache_read_input_token_cost": 1e-7, "input_cost_per_token_flex": 5e-7, "output_cost_per_token_flex": 1e-6, "cache_read_input_token_cost_flex": 5e-8, "litellm_provider": "openai"},
		"openai/b": {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6, "input_cost_per_token_above_200k_tokens": 3e-6, "output_cost_per_token_above_200k_tokens": 2e-6, "litellm_provider": "openai"},
		"anthropic/c": {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6, "cache_creation_input_token_cost": 0, "cache_creation_input_token_cost_above_1hr": 2e-6, "litellm_provider": "anthropic"},
		"openai/only": {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6},
		"openai/window": {"max_input_tokens": 5},
		"openai/odd": {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6},
		"openai/same": {"input_cost_per_token": 0.00000125, "output_cost_per_token": 2e-6}}`)
	there := loaded(t, `{
		"a": {"input_cost_per_token": 2e-6, "output_cost_per_token": 2e-6, "cache_read_input_token_cost": 1e-7, "input_cost_per_token_flex": 1e-6, "output_cost_per_token_flex": 1e-6, "cache_read_input_token_cost_flex": 5e-8, "input_cost_per_token_priority": 9e-6, "output_cost_per_token_priority": 9e-6, "litellm_provider": "openai"},
		"b": {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6, "litellm_provider": "openai"},
		"c": {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6, "cache_creation_input_token_cost_above_1hr": 3e-6, "litellm_provider": "anthropic"},
		"openai/window": {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6},
		"openai/odd": {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6, "input_cost_per_token_moonlight": 1},
		"openai/same": {"input_cost_per_token": 1.2500000000000001e-06, "output_cost_per_token": 2e-6},
		"openai/new": {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6}}`)
	got := here.Against(there)
	want := []price.Difference{
		{"anthropic/c", "", 0, "cache_write", 0, 1e-6},
		{"anthropic/c", "", 0, "cache_write_1h", 2e-6, 3e-6},
		{"openai/a", "", 0, "input", 1e-6, 2e-6},
		{"openai/a", "", 0, "cache_write", 1e-6, 2e-6},
		{"openai/a", "flex", 0, "input", 5e-7, 1e-6},
		{"openai/a", "flex", 0, "cache_write", 5e-7, 1e-6},
		{"openai/b", "", 200000, "input", 3e-6, 1e-6},
		{"openai/b", "", 200000, "cached_input", 3e-6, 1e-6},
		{"openai/b", "", 200000, "cache_write", 3e-6, 1e-6},
	}
	if d := cmp.Diff(want, got.Differences); d != "" {
		t.Errorf("differences (-want +got):\n%s", d)
	}
	if len(got.Compared) != 4 || len(got.Missing) != 1 || got.Missing[0] != "openai/only" || len(got.Unpriced) != 1 || !strings.Contains(got.Refused["openai/odd"], "moonlight") {
		t.Errorf("%+v", got)
	}
	if same := here.Against(here); len(same.Differences) > 0 {
		t.Errorf("a table differs from itself: %+v", same.Differences)
	}
}
