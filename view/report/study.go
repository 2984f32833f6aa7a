package report

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/report/stats"
	"batch.example/batch/results"
	"batch.example/batch/results/scores"
	"batch.example/batch/vocab"
)

// study is the input of the parts of a page.
type study struct {
	entries []side
	ids     []string                    // of all instances that any entry was asked for, sorted
	repos   map[string]string           // by instance id; empty if unknown
	to      func(dir, id string) string // see Data.Link
	hide    func(text string) string
}

// side is one side of the comparison.
type side struct {
	scores.Side
	key   // the entry's sign in charts and tables
	label string
	cells map[string]result
	last  []map[string]results.Record // by attempt: the record that counts, by instance id
}

// result has an entry's results at one instance.
type result struct {
	asked    int // attempts that know the instance
	graded   int // attempts with a verdict that counts
	resolved int // of graded
	steps    *float64
	cost     *float64
	seconds  *float64
	scores   []scores.Score // by attempt
}

// rate returns the share of graded attempts that resolved the instance; ok is false without any.
func (c result) rate() (rate float64, ok bool) {
	if c.graded == 0 {
		return 0, false
	}
	return float64(c.resolved) / float64(c.graded), true
}

func newStudy(d Data) study {
	s := study{repos: map[string]string{}, to: d.Link, hide: d.Hide}
	if s.hide == nil {
		s.hide = func(text string) string { return text }
	}
	for i, e := range d.Entries {
		en := side{Side: e, key: keyOf(i), label: s.text(e.Name, nameText), cells: map[string]result{}}
		for _, a := range e.Runs {
			var last map[string]results.Record
			if a.Snapshot != nil {
				last = results.Latest(a.Snapshot.Records)
			}
			en.last = append(en.last, last)
			for id, score := range a.Scores {
				s.repos[id] = cmp.Or(s.repos[id], score.Repo)
			}
		}
		s.entries = append(s.entries, en)
	}
	s.ids = slices.Sorted(maps.Keys(s.repos))
	for _, id := range s.ids {
		for i := range s.entries {
			s.entries[i].cells[id] = resultOf(s.entries[i].Runs, id)
		}
	}
	return s
}

func resultOf(attempts []scores.Run, id string) result {
	var c result
	var steps, cost, seconds []float64
	for _, a := range attempts {
		score := a.At(id)
		c.scores = append(c.scores, score)
		if score.Left != scores.Missing {
			c.asked++
		}
		if score.Resolved != nil {
			c.graded++
			if *score.Resolved {
				c.resolved++
			}
		}
		if score.Steps != nil {
			steps = append(steps, float64(*score.Steps))
		}
		if score.Cost != nil {
			cost = append(cost, *score.Cost)
		}
		if score.Seconds != nil {
			seconds = append(seconds, *score.Seconds)
		}
	}
	c.steps, c.cost, c.seconds = stats.Mean(steps), stats.Mean(cost), stats.Mean(seconds)
	return c
}

// cell names the entry.
func (e side) cell() cell { return cell{Mark: e.sign(), Name: e.label} }

// numbered names the attempt i of the entry.
func (e side) numbered(i int) cell {
	c := cell{Mark: e.sign()}
	if len(e.Runs) > 1 {
		c.Text = fmt.Sprintf("attempt %d", i+1)
	}
	return c
}

// attempt names an attempt at an instance.
func (s study) attempt(e side, i int, id string) []cell {
	return []cell{{Name: s.text(id, 0), Link: s.link(e, i, id)}, e.numbered(i)}
}

// heads are the heads of a column of names, of others, and of a column of numbers for each entry.
func (s study) heads(names string, others ...cell) []cell {
	list := append([]cell{{Text: names}}, others...)
	for _, e := range s.entries {
		list = append(list, e.head())
	}
	return list
}

// several reports whether an entry has more than one attempt.
func (s study) several() bool {
	return slices.ContainsFunc(s.entries, func(e side) bool { return len(e.Runs) > 1 })
}

// rate is the share of resolved instances. An instance counts with the mean of its attempts.
type rate struct {
	instances int // with a verdict that counts
	attempts  int // with one
	resolved  int // attempts
	value     float64
	method    stats.Method
	stats.Interval
}

// rateOf returns the rate on these instances.
func (s study) rateOf(e side, ids []string) rate {
	var r rate
	var values []float64
	var repositories []string
	for _, id := range ids {
		c := e.cells[id]
		v, ok := c.rate()
		if !ok {
			continue
		}
		r.instances++
		r.attempts += c.graded
		r.resolved += c.resolved
		values, repositories = append(values, v), append(repositories, s.repos[id])
	}
	if r.instances == 0 {
		return r
	}
	r.value = *stats.Mean(values)
	r.Interval, r.method = stats.Bootstrap{}.Rate(values, repositories)
	return r
}

// LinksFrom returns a [Data.Link] to the files of trajectories, relative to the folder here, which is an
// absolute path. It goes by names alone: a browser applies .. without following symbolic links. Each name
// is percent-encoded, and the link begins with ./ or ../, so that no name can be taken for a scheme, a
// query or another folder.
func LinksFrom(here string) func(dir, id string) string {
	return func(dir, id string) string {
		there, err := filepath.Abs(results.TrajectoryPath(dir, id))
		if err != nil {
			return ""
		}
		relative, err := filepath.Rel(here, there)
		if err != nil {
			return ""
		}
		parts := strings.Split(filepath.ToSlash(relative), "/")
		for i, part := range parts {
			parts[i] = url.PathEscape(part)
		}
		if parts[0] != ".." {
			parts = append([]string{"."}, parts...)
		}
		return strings.Join(parts, "/")
	}
}

// link returns the link to an attempt at an instance, or "" if there is none.
func (s study) link(e side, attempt int, id string) string {
	r, ok := e.last[attempt][id]
	if s.to == nil || !ok || vocab.CheckID(id) != nil || !r.Measured() || r.Outcome == vocab.OutcomePending {
		return ""
	}
	return s.to(e.Runs[attempt].Path, id)
}
