package price_test

import (
	"math"
	"strings"
	"testing"

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
