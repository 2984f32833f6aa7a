package page

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"batch.example/batch/internal/printable"
	"batch.example/batch/results/manifest"
)

// settingsView is the table of settings in which entries differ from the first one.
type settingsView struct {
	Entries []side
	Rows    []settingRow
	Note    string
}

type settingRow struct {
	Name   string
	Values []string // by entry
}

const mostSettings = 60

// settings returns nil if the entries have the same settings or fewer than two have a manifest. It
// shows the first of several attempts: the others differ in seeds.
func (s study) settings() *settingsView {
	v := &settingsView{}
	var manifests []*manifest.Manifest
	for _, e := range s.entries {
		if list := e.manifests(); len(list) > 0 && !list[0].OnlyGraded() {
			v.Entries = append(v.Entries, e)
			manifests = append(manifests, list[0])
		}
	}
	if len(manifests) < 2 {
		return nil
	}
	values := map[string][]string{} // by name, then by entry
	var names []string
	for i, m := range manifests[1:] {
		for _, d := range m.Differences(manifests[0]) {
			if !d.Matters || d.Name == "model.model_name" {
				continue
			}
			if values[d.Name] == nil {
				names = append(names, d.Name)
				values[d.Name] = slices.Repeat([]string{settingValue(s.hide(d.Was))}, len(manifests))
			}
			values[d.Name][i+1] = settingValue(s.hide(d.Now))
		}
	}
	slices.Sort(names)
	for _, name := range names[:min(len(names), mostSettings)] {
		v.Rows = append(v.Rows, settingRow{cut(name, 100), values[name]})
	}
	if rest := len(names) - mostSettings; rest > 0 {
		v.Note = printable.Count(rest, "more setting differs.", "more settings differ.")
	}
	if len(v.Rows) == 0 {
		return nil
	}
	return v
}

// settingValue formats a JSON value on one line; for a text with several lines, it gives their
// number.
func settingValue(value string) string {
	text := value
	var s string
	if json.Unmarshal([]byte(value), &s) == nil {
		text = s
	}
	switch {
	case value == "":
		return "not set"
	case text == "":
		return "empty"
	}
	if lines := strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1; lines > 1 {
		return fmt.Sprintf("%s (%d lines)", cut(strings.SplitN(strings.TrimSpace(text), "\n", 2)[0], 60), lines)
	}
	return cut(text, 120)
}
