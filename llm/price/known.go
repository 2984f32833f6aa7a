package price

import "batch.example/batch/vocab"

// Known returns the prices of some OpenAI models, standard tier, copied
// from LiteLLM's model registry (model_prices_and_context_window.json of
// github.com/BerriAI/litellm at commit 00035b69f416). Only models whose price
// is the same at every context length are here. Prices change: those of the
// caller's own registry belong on top, see [Table.With]. The map is the caller's.
func Known() Table {
	const million = 1e6
	perMillion := map[string][3]float64{ // input, cached input, output
		"gpt-5.4-mini":      {0.75, 0.075, 4.5},
		"gpt-5.4-nano":      {0.2, 0.02, 1.25},
		"gpt-5.2":           {1.75, 0.175, 14},
		"gpt-5.1":           {1.25, 0.125, 10},
		"gpt-5":             {1.25, 0.125, 10},
		"gpt-4.1":           {2, 0.5, 8},
		"gpt-4.1-mini":      {0.4, 0.1, 1.6},
		"gpt-4.1-nano":      {0.1, 0.025, 0.4},
		"gpt-4o":            {2.5, 1.25, 10},
		"gpt-4o-2024-05-13": {5, 5, 15},
		"gpt-4o-mini":       {0.15, 0.075, 0.6},
		"gpt-4-turbo":       {10, 10, 30},
	}
	prices := make(Table, len(perMillion))
	for name, p := range perMillion {
		prices[name] = vocab.Price{Rates: vocab.Rates{Input: p[0] / million, CachedInput: p[1] / million, Output: p[2] / million}}
	}
	return prices
}
