package compare

import (
	"cmp"
	"fmt"
	"slices"

	"batch.example/batch/report/stats"
	"batch.example/batch/results"
	"batch.example/batch/results/scores"
)

// side is an entry and its result on each instance.
type side struct {
	scores  scores.Side
	results map[string]result
}

// result is the mean of an entry's attempts at an instance.
type result struct {
	scores.Instance
	without              int // attempts without a score
	left                 scores.Reason
	cost, steps, seconds *float64
	patches              []string // digests of the predictions with a score, each once
}

func (r result) scored() bool { return r.Scored > 0 }

func (r result) effort() Effort { return Effort{r.steps, r.cost, append([]string{}, r.patches...)} }

func newSide(e scores.Side) side {
	s := side{scores: e, results: map[string]result{}}
	for _, in := range e.Instances() {
		s.results[in.ID] = newResult(in)
	}
	return s
}

// at returns the result on an instance; the entry need not know the instance.
func (s side) at(id string) result {
	if r, ok := s.results[id]; ok {
		return r
	}
	return result{Instance: scores.Instance{ID: id}, left: scores.Missing}
}

// newResult averages the attempts that have a score. An instance that is quarantined in any attempt
// has no score.
func newResult(in scores.Instance) result {
	r := result{Instance: in}
	var cost, steps, seconds []float64
	var reasons []scores.Reason
	for _, s := range in.Scores {
		if s.Resolved == nil {
			reasons = append(reasons, s.Left)
			continue
		}
		if s.Steps != nil {
			steps = append(steps, float64(*s.Steps))
		}
		if s.Patch != nil && !slices.Contains(r.patches, *s.Patch) {
			r.patches = append(r.patches, *s.Patch)
		}
		cost, seconds = appended(cost, s.Cost), appended(seconds, s.Seconds)
	}
	r.without = len(reasons)
	if slices.Contains(reasons, scores.Quarantined) {
		return result{Instance: scores.Instance{ID: in.ID, Repo: in.Repo}, left: scores.Quarantined}
	}
	if !r.scored() {
		r.left = first(reasons)
		return r
	}
	r.cost, r.steps, r.seconds = stats.Mean(cost), stats.Mean(steps), stats.Mean(seconds)
	return r
}

// first returns the reason that tables show first.
func first(reasons []scores.Reason) scores.Reason {
	for _, reason := range scores.Reasons() {
		if slices.Contains(reasons, reason) {
			return reason
		}
	}
	return scores.NotGraded
}

// appended appends v, unless it is unknown or not finite.
func appended(list []float64, v *float64) []float64 {
	if v == nil || !finite(*v) {
		return list
	}
	return append(list, *v)
}

// entry summarizes a side over the common instances. repoOf has their repositories.
func (s side) entry(common []string, repoOf map[string]string, boot stats.Bootstrap) Side {
	e := Side{Name: s.scores.Name, Model: s.scores.Model, Attempts: len(s.scores.Runs), Paths: []string{}, Flaky: []Flaky{}}
	for _, a := range s.scores.Runs {
		e.Paths = append(e.Paths, a.Path)
		for _, note := range a.Notes {
			e.Notes = append(e.Notes, a.Path+": "+note)
		}
	}
	e.mix(s.scores.Runs)
	for _, r := range s.results {
		if r.scored() {
			e.Scored++
		}
		if r.Flaky() {
			e.Flaky = append(e.Flaky, Flaky{r.ID, r.Resolved, r.Scored})
		}
	}
	slices.SortFunc(e.Flaky, func(a, b Flaky) int { return cmp.Compare(a.ID, b.ID) })
	var rates, cost, steps, seconds []float64
	var repositories []string
	for _, id := range common {
		r := s.at(id)
		rates, repositories = append(rates, r.Rate()), append(repositories, repoOf[id])
		cost, steps, seconds = appended(cost, r.cost), appended(steps, r.steps), appended(seconds, r.seconds)
	}
	if rate := stats.Mean(rates); rate != nil {
		e.Rate = *rate
	}
	e.Interval, _ = boot.Rate(rates, repositories)
	e.Known = Known{len(cost), len(steps), len(seconds)}
	e.Cost, e.Steps, e.Seconds = stats.Mean(cost), stats.Mean(steps), stats.Mean(seconds)
	return e
}

// without counts the instances of an entry that have no score, by reason. Quarantined instances are
// in neither number: they are left out on purpose.
func (s side) without() (reasons map[scores.Reason]int, missing, asked int) {
	reasons = map[scores.Reason]int{}
	for _, r := range s.results {
		if r.left == scores.Quarantined {
			continue
		}
		asked++
		if !r.scored() {
			reasons[r.left]++
			missing++
		}
	}
	return reasons, missing, asked
}

// together counts the instances that both sides know, and how many of them have no score on at
// least one side. Quarantined instances do not count.
func together(a, b side) (missing, asked int) {
	for id, r := range b.results {
		other, known := a.results[id]
		if !known || r.left == scores.Quarantined || other.left == scores.Quarantined {
			continue
		}
		asked++
		if !r.scored() || !other.scored() {
			missing++
		}
	}
	return missing, asked
}

// holdBack fails the gates of entries and of pairs if too many instances have no score: the
// remaining ones need not be representative. most is the allowed share; 0 is half.
func holdBack(gates []Ruling, sides []side, most float64) {
	most = cmp.Or(most, 0.5)
	why, named := map[string]string{}, map[string]side{}
	for _, s := range sides {
		named[s.scores.Name] = s
		reasons, missing, asked := s.without()
		if float64(missing) > most*float64(asked) {
			why[s.scores.Name] = fmt.Sprintf("%d of the %d instances of %s have no score (%s)", missing, asked, s.scores.Name, ReasonWords(reasons))
		}
	}
	for i := range gates {
		g := &gates[i]
		reason := cmp.Or(why[g.B], why[g.A])
		if missing, asked := together(named[g.A], named[g.B]); reason == "" && float64(missing) > most*float64(asked) {
			reason = fmt.Sprintf("%d of the %d instances of %s and %s have no score on one side", missing, asked, g.A, g.B)
		}
		if g.Passed && reason != "" {
			g.Passed = false
			g.Text = fmt.Sprintf("gate failed: %s: %s, and more than %s may not be without one", g.Gate, reason, rate(most))
		}
	}
}

// mix notes what is mixed in an entry. The notes of each directory already have its own mixture,
// but the attempts together may be mixed in more ways.
func (e *Side) mix(attempts []scores.Run) {
	var list []*results.Snapshot
	alone := false
	for _, a := range attempts {
		if a.Snapshot != nil {
			list = append(list, a.Snapshot)
			alone = alone || results.MixedIn(a.Snapshot) != nil
		}
	}
	e.Mixed = results.MixedIn(list...)
	if !alone && e.Mixed != nil {
		e.Notes = append(e.Notes, e.Name+": "+e.Mixed.Note())
	}
}
