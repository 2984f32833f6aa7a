package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"batch.example/batch/internal/printable"
	"batch.example/batch/results/manifest"
)

// manifests returns the manifests of the entry's attempts.
func (e side) manifests() []*manifest.Manifest {
	var list []*manifest.Manifest
	for _, a := range e.Runs {
		if a.Snapshot != nil && a.Snapshot.Manifest != nil {
			list = append(list, a.Snapshot.Manifest)
		}
	}
	return list
}

func (s study) manifests() []*manifest.Manifest {
	var list []*manifest.Manifest
	for _, e := range s.entries {
		list = append(list, e.manifests()...)
	}
	return list
}

func (s study) title() string {
	on := ""
	if names := s.datasets(); len(names) == 1 {
		on = " on " + names[0]
	}
	switch len(s.entries) {
	case 0:
		return "No runs"
	case 1:
		return s.entries[0].label + on
	case 2:
		return s.entries[0].label + " and " + s.entries[1].label + on
	default:
		return fmt.Sprintf("%d runs%s", len(s.entries), on)
	}
}

// distinct returns a text of the manifests without duplicates.
func (s study) distinct(of func(*manifest.Manifest) string) []string {
	var list []string
	for _, m := range s.manifests() {
		if text := s.text(of(m), shortText); text != "" && !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

func (s study) datasets() []string {
	return s.distinct(func(m *manifest.Manifest) string { return m.Dataset.Title() })
}

// facts returns the general facts for the head of the page.
func (s study) facts() []string {
	list := []string{printable.Count(len(s.ids), "instance", "instances")}
	attempts := 0
	for _, e := range s.entries {
		attempts += len(e.Runs)
	}
	if attempts > len(s.entries) {
		list = append(list, printable.Count(attempts, "attempt", "attempts"))
	}
	if names := s.datasets(); len(names) > 1 {
		list = append(list, "datasets "+strings.Join(names, ", "))
	}
	if when := s.dates(); when != "" {
		list = append(list, when)
	}
	versions := s.distinct(func(m *manifest.Manifest) string { return m.Batch })
	for _, v := range versions[:min(2, len(versions))] {
		list = append(list, "batch "+v)
	}
	return list
}

// dates returns the days of the first and of the last run.
func (s study) dates() string {
	var times []time.Time
	for _, m := range s.manifests() {
		for _, r := range m.Runs {
			times = append(times, r.Started)
			if r.Ended != nil {
				times = append(times, *r.Ended)
			}
		}
	}
	if times == nil {
		return ""
	}
	from, to := day(slices.MinFunc(times, time.Time.Compare)), day(slices.MaxFunc(times, time.Time.Compare))
	if from == to {
		return "run on " + from
	}
	return "run from " + from + " to " + to
}

func day(t time.Time) string { return t.UTC().Format("2 January 2006") }

// warnings returns reasons not to compare the runs, and damage in them.
func (s study) warnings() []string {
	var list []string
	if len(s.distinct(func(m *manifest.Manifest) string { return m.Dataset.Digest })) > 1 {
		list = append(list, "The runs read different datasets, or different versions of one: an instance may not be the same in all of them.")
	}
	for _, e := range s.entries {
		for _, a := range e.Runs {
			for _, n := range a.Notes {
				list = append(list, e.Letter+", "+s.text(a.Path, nameText)+": "+s.text(n, longText))
			}
		}
	}
	return list
}

// runs lists the directories.
func (s study) runs() *section {
	t := &table{Label: "Runs", Heads: []cell{{Text: "Run"}, {Text: "Directory"}, {Text: "Model"}, {Text: "Dataset"}, {Text: "Began"}, {Text: "Ended"}, {Text: "Made by"}}}
	for _, e := range s.entries {
		for i, a := range e.Runs {
			dataset, by, began, ended := "", "", "", ""
			if a.Snapshot != nil && a.Snapshot.Manifest != nil {
				m := a.Snapshot.Manifest
				dataset, by = s.text(m.Dataset.Title(), shortText), "batch "+s.text(m.Batch, shortText)
				if n := len(m.Runs); n > 0 {
					began = moment(m.Runs[0].Started)
					if end := m.Runs[n-1].Ended; end != nil {
						ended = moment(*end)
					}
				}
			}
			t.add(e.numbered(i), cell{Class: "why", Name: s.text(a.Path, 0)}, cell{Name: s.text(e.Model, nameText)}, cell{Name: dataset},
				cell{Class: "when", Text: began}, cell{Class: "when", Text: ended}, cell{Text: by})
		}
	}
	return &section{ID: "runs", Name: "Runs", Table: t}
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
