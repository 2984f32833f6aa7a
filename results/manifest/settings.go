package manifest

import (
	"batch.example/batch/vocab"
)

// Settings are what an attempt is made with, as far as they affect its result. An
// attempt that was made with different settings is never resumed.
type Settings struct {
	Model   string `json:"model"`
	Config  any    `json:"config"` // resolved; holds no secrets
	Salvage bool   `json:"salvage,omitempty"`
	Row     string `json:"row"` // digest of the dataset's row

	// These do not affect the result.
	Price   *vocab.Price `json:"price,omitempty"`   // that calls are counted at; each keeps its cost
	Prompts string       `json:"prompts,omitempty"` // whose they are
	Version string       `json:"version,omitempty"` // of batch
}

// Differences returns where s differs from the settings that an attempt was made
// with, sorted by name. Names are those of [Manifest.Differences], and "row".
func (s Settings) Differences(was Settings) []Difference {
	s.Price, was.Price = nil, nil
	now, before := flatten(s), flatten(was)
	for _, name := range append([]string{"prompts", "version"}, indifferent...) {
		delete(now, name)
		delete(before, name)
	}
	return differences(now, before, func(string) bool { return true })
}
