package page

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"batch.example/batch/internal/printable"
	"batch.example/batch/results/manifest"
)

// Label returns the entry's name for display.
func (e side) Label() string { return cut(e.Name, 120) }

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
		return s.entries[0].Label() + on
	case 2:
		return s.entries[0].Label() + " and " + s.entries[1].Label() + on
	default:
		return fmt.Sprintf("%d runs%s", len(s.entries), on)
	}
}

// datasets returns the names of all datasets without duplicates.
func (s study) datasets() []string {
	var names []string
	for _, m := range s.manifests() {
		if name := cut(m.Dataset.Title(), 80); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
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
	var versions []string
	for _, m := range s.manifests() {
		if v := "batch " + cut(m.Batch, 40); m.Batch != "" && !slices.Contains(versions, v) {
			versions = append(versions, v)
		}
	}
	return append(list, versions[:min(2, len(versions))]...)
}

// dates returns the days of the first and of the last run.
func (s study) dates() string {
	var first, last time.Time
	for _, m := range s.manifests() {
		for _, r := range m.Runs {
			end := r.Started
			if r.Ended != nil {
				end = *r.Ended
			}
			if first.IsZero() || r.Started.Before(first) {
				first = r.Started
			}
			if end.After(last) {
				last = end
			}
		}
	}
	from, to := day(first), day(last)
	switch {
	case first.IsZero():
		return ""
	case from == to:
		return "run on " + from
	default:
		return "run from " + from + " to " + to
	}
}

func day(t time.Time) string { return t.UTC().Format("2 January 2006") }

// warnings returns reasons not to compare the runs, and damage in them.
func (s study) warnings() []string {
	var list []string
	digests := map[string]bool{}
	for _, m := range s.manifests() {
		digests[m.Dataset.Digest] = true
	}
	if len(digests) > 1 {
		list = append(list, "The runs read different datasets, or different versions of one: an instance may not be the same in all of them.")
	}
	for _, e := range s.entries {
		for _, a := range e.Runs {
			for _, n := range a.Notes {
				list = append(list, e.Letter+", "+cut(a.Path, 120)+": "+cut(s.hide(n), 300))
			}
		}
	}
	return list
}

// runView is one directory in the list of runs.
type runView struct {
	key
	Attempt                                int // 0: it is the only one
	Path, Model, Dataset, Began, Ended, By string
}

func (s study) runs() []runView {
	var list []runView
	for _, e := range s.entries {
		for i, a := range e.Runs {
			v := runView{key: e.key, Attempt: e.number(i), Path: plain(a.Path), Model: cut(e.Model, 120)}
			if a.Snapshot != nil && a.Snapshot.Manifest != nil {
				m := a.Snapshot.Manifest
				v.Dataset, v.By = cut(m.Dataset.Title(), 80), "batch "+cut(m.Batch, 40)
				if n := len(m.Runs); n > 0 {
					v.Began = moment(m.Runs[0].Started)
					if end := m.Runs[n-1].Ended; end != nil {
						v.Ended = moment(*end)
					}
				}
			}
			list = append(list, v)
		}
	}
	return list
}

// number returns the number of an attempt, or 0 for the only one.
func (e side) number(i int) int {
	if len(e.Runs) == 1 {
		return 0
	}
	return i + 1
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
