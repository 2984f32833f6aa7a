package results

import (
	"fmt"
	"slices"
	"strings"

	"batch.example/batch/internal/printable"
)

// Mixed says in what the results of one directory, or of one entry of a comparison, differ:
// their rate does not describe a single model.
type Mixed struct {
	Models   []string `json:"models,omitempty"`   // of the results, sorted; empty if there is one
	Settings []string `json:"settings,omitempty"` // names of other settings that differed, sorted
	Foreign  int      `json:"foreign,omitempty"`  // results that another tool made; 0 if batch made none
}

// MixedIn returns the mixed properties of directories that count as one; nil: nothing is
// mixed.
func MixedIn(list ...*Snapshot) *Mixed {
	var m Mixed
	own := false
	for _, snap := range list {
		for _, r := range Latest(snap.Records) {
			if !r.Outcome.Final() {
				continue
			}
			if r.Model != "" {
				m.Models = append(m.Models, r.Model)
			}
			if r.Attempt == 0 {
				m.Foreign++
			} else {
				own = true
			}
		}
		if snap.Manifest == nil {
			continue
		}
		for _, d := range snap.Manifest.Mixed {
			if d.Name != "model" && d.Name != "model.model_name" {
				m.Settings = append(m.Settings, d.Name)
			}
		}
	}
	m.Models, m.Settings = sortedOnce(m.Models), sortedOnce(m.Settings)
	if len(m.Models) < 2 {
		m.Models = nil
	}
	if !own {
		m.Foreign = 0
	}
	if len(m.Models)+len(m.Settings)+m.Foreign == 0 {
		return nil
	}
	return &m
}

func sortedOnce(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// Note describes m in words; empty for nil.
func (m *Mixed) Note() string {
	if m == nil {
		return ""
	}
	var parts []string
	if len(m.Models) > 0 {
		parts = append(parts, "of several models ("+some(m.Models)+")")
	}
	if len(m.Settings) > 0 {
		parts = append(parts, "made with different settings ("+some(m.Settings)+")")
	}
	if m.Foreign > 0 {
		parts = append(parts, fmt.Sprintf("in part of another tool (%d)", m.Foreign))
	}
	return "mixed: the results are " + strings.Join(parts, ", and ")
}

// some names the first of many.
func some(names []string) string {
	const most = 5
	text := strings.Join(names[:min(most, len(names))], ", ")
	if more := len(names) - most; more > 0 {
		text += ", and " + printable.Count(more, "more", "more")
	}
	return text
}
