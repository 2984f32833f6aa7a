package page

import (
	"cmp"
	"maps"
	"slices"

	"batch.example/batch/report/stats"
	"batch.example/batch/results"
	"batch.example/batch/results/scores"
)

// study is the input of the parts of a page.
type study struct {
	entries []side
	ids     []string          // of all instances that any entry was asked for, sorted
	repos   map[string]string // by instance id; noRepo if unknown
	folder  func(path string) string
	hide    func(text string) string
}

const noRepo = "unknown repository"

// side is one side of the comparison.
type side struct {
	scores.Side
	key   // the entry's sign in charts and tables
	cells map[string]cell
	last  []map[string]results.Record // by attempt: the record that counts, by instance id
}

// cell has an entry's results at one instance.
type cell struct {
	asked    int // attempts that know the instance
	graded   int // attempts with a verdict that counts
	resolved int // of graded
	steps    *float64
	cost     *float64
	seconds  *float64
	scores   []scores.Score // by attempt
}

// rate returns the share of graded attempts that resolved the instance; ok is false without any.
func (c cell) rate() (rate float64, ok bool) {
	if c.graded == 0 {
		return 0, false
	}
	return float64(c.resolved) / float64(c.graded), true
}

func newStudy(d Data) study {
	s := study{repos: map[string]string{}, folder: d.Folder, hide: d.Hide}
	if s.hide == nil {
		s.hide = func(text string) string { return text }
	}
	for i, e := range d.Entries {
		en := side{Side: e, key: keyOf(i), cells: map[string]cell{}}
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
		s.repos[id] = cmp.Or(s.repos[id], noRepo)
		for i := range s.entries {
			s.entries[i].cells[id] = cellOf(s.entries[i].Runs, id)
		}
	}
	return s
}

func cellOf(attempts []scores.Run, id string) cell {
	var c cell
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
		r.value += v
		values, repositories = append(values, v), append(repositories, s.cluster(id))
	}
	if r.instances == 0 {
		return r
	}
	r.value /= float64(r.instances)
	r.Interval, r.method = stats.Bootstrap{}.Rate(values, repositories)
	return r
}

// cluster returns the repository of an instance. It is empty if unknown; then the instance is its
// own cluster.
func (s study) cluster(id string) string {
	if repo := s.repos[id]; repo != noRepo {
		return repo
	}
	return ""
}
