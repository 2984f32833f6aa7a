package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"batch.example/batch/internal/printable"
	"batch.example/batch/results/manifest"
)

const mostSettings = 60

// settings lists the settings in which entries differ from the first one. It returns nil if the entries have the same settings or fewer than two have a manifest. It
// shows the first of several attempts: the others differ in seeds.
func (s study) settings() *section {
	t := &table{Label: "Settings that differ", Class: "snug", Heads: []cell{{Text: "Setting"}}}
	var manifests []*manifest.Manifest
	for _, e := range s.entries {
		if list := e.manifests(); len(list) > 0 && !list[0].OnlyGraded() {
			t.Heads = append(t.Heads, cell{Mark: e.sign()})
			manifests = append(manifests, list[0])
		}
	}
	if len(manifests) < 2 {
		return nil
	}
	values := map[string][]cell{} // by name, then by entry
	var names []string
	for i, m := range manifests[1:] {
		for _, d := range m.Differences(manifests[0]) {
			if !d.Matters || d.Name == "model.model_name" {
				continue
			}
			if values[d.Name] == nil {
				names = append(names, d.Name)
				values[d.Name] = slices.Repeat([]cell{s.setting(d.Was)}, len(manifests))
			}
			values[d.Name][i+1] = s.setting(d.Now)
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		return nil
	}
	part := &section{ID: "settings", Name: "Settings that differ", Table: t}
	for _, name := range names[:min(len(names), mostSettings)] {
		t.add(append([]cell{{Name: s.text(name, nameText)}}, values[name]...)...)
	}
	if rest := len(names) - mostSettings; rest > 0 {
		part.Notes = []string{printable.Count(rest, "more setting differs.", "more settings differ.")}
	}
	return part
}

// setting is a JSON value on one line; of a text with several lines, it is the first with their number.
func (s study) setting(value string) cell {
	text := value
	var one string
	if json.Unmarshal([]byte(value), &one) == nil {
		text = one
	}
	text = s.hide(text) // a secret may have several lines
	switch {
	case value == "":
		return cell{Text: "not set"}
	case text == "":
		return cell{Text: "empty"}
	}
	if lines := strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1; lines > 1 {
		first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		return cell{Name: fmt.Sprintf("%s (%d lines)", s.text(first, shortText), lines)}
	}
	return cell{Name: s.text(text, nameText)}
}
