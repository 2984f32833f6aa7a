package manifest

import (
	"batch.example/batch/vocab"
)

// Settings is what an attempt is made under, as far as it makes the result what it
// is. An attempt that was made under other settings is never resumed.
type Settings struct {
	Model   string       `json:"model"`
	Config  any          `json:"config"`          // resolved; holds no secrets
	Price   *vocab.Price `json:"price,omitempty"` // that calls are counted at
	Salvage bool         `json:"salvage,omitempty"`
	Row     string       `json:"row"` // digest of the dataset's row

	// What a trajectory says of them, and what does not make a result another.
	Prompts string `json:"prompts,omitempty"` // whose they are
	Version string `json:"version,omitempty"` // of batch
}

// Differences returns where s differs from what an attempt was made under, sorted
// by name. Names are those of [Manifest.Differences], and "row".
func (s Settings) Differences(was Settings) []Difference {
	now, before := flatten(s), flatten(was)
	for _, name := range append([]string{"prompts", "version"}, indifferent...) {
		delete(now, name)
		delete(before, name)
	}
	return differences(now, before, func(string) bool { return true })
}
