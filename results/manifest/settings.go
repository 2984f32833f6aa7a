package manifest

import (
	"batch.example/batch/vocab"
)

// Settings has everything that decides an attempt's result. An attempt that was made with
// different settings is never resumed.
type Settings struct {
	Model   string  `json:"model"`
	Config  any     `json:"config"` // resolved; holds no secrets
	Salvage bool    `json:"salvage,omitempty"`
	Factor  float64 `json:"timeout_multiplier,omitempty"` // of the time limits of task folders; 0: 1
	Row     string  `json:"row"`                          // digest of the dataset's row

	// These do not affect the result.
	Price   *vocab.Price `json:"price,omitempty"`   // for counting calls; each call keeps its cost
	Prompts string       `json:"prompts,omitempty"` // where they come from
	Version string       `json:"version,omitempty"` // of batch
}

// Differences returns the differences between s and the settings of an attempt, sorted by
// name. The names are as in [Manifest.Differences], and "row".
func (s Settings) Differences(was Settings) []Difference {
	s.Price, was.Price = nil, nil
	now, before := flatten(s), flatten(was)
	for _, name := range append([]string{"prompts", "version"}, indifferent...) {
		delete(now, name)
		delete(before, name)
	}
	return differences(now, before, func(string) bool { return true })
}
