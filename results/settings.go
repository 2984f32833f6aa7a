package results

import (
	"encoding/json"

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

// Resumable returns the settings of the attempt that [Store.Resume] would resume
// under the same ones, and whether there is such an attempt.
func (s *Store) Resumable(id string) (Settings, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.instances[id]
	if in == nil || !in.state.resumable() {
		return Settings{}, false
	}
	return in.made, true
}

// sameSettings compares as their copies in a journal do.
func sameSettings(a, b Settings) bool { return len(a.Differences(b)) == 0 }

// readSettings reads them from an attempt record. Of one that has none, all differ.
func (d *attemptData) readSettings() Settings {
	var s Settings
	if json.Unmarshal(d.Settings, &s) != nil {
		return Settings{}
	}
	return s
}
