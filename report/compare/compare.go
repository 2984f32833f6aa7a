package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"batch.example/batch/report/stats"
	"batch.example/batch/results/scores"
)

// Options choose what to compare. The zero value compares all entries with the first.
type Options struct {
	AllPairs   bool
	Bootstrap  stats.Bootstrap // its Level applies to all intervals
	Gates      []Gate          // for each entry against the first
	MaxLeftOut float64         // largest share of an entry's instances without a score at which a gate can pass; 0: half
	RatesOnly  bool            // leaves out the slowest parts of pairs: power, cost, steps and time
}

// New compares at least two entries with different names.
func New(entries []scores.Side, o Options) Comparison {
	o.Bootstrap = complete(o.Bootstrap)
	c := Comparison{
		Level: o.Bootstrap.Level, Draws: o.Bootstrap.Draws, Seed: o.Bootstrap.Seed,
		Entries: []Side{}, TiedSet: []string{}, Pairs: []Pair{},
	}
	sides := make([]side, len(entries))
	for i, e := range entries {
		sides[i] = newSide(e)
	}
	common := commonOf(sides)
	c.Common = len(common)
	repos := reposOf(sides)
	for _, s := range sides {
		c.Entries = append(c.Entries, s.entry(common, repos, o.Bootstrap))
	}
	all := everyPair(sides, o.Bootstrap)
	adjust(all, o.Bootstrap)
	c.rank(all)
	for _, p := range all {
		if p.a == 0 || o.AllPairs {
			p.fill(sides, o)
			c.Pairs = append(c.Pairs, p.Pair)
		}
	}
	if len(c.Pairs) == 1 {
		c.Pair = &c.Pairs[0]
	}
	c.Notes = notes(entries, c)
	for _, g := range o.Gates {
		if g.ofRate() {
			c.Gates = append(c.Gates, g.ruleRates(sides, o.Bootstrap)...)
			continue
		}
		c.Gates = append(c.Gates, g.rule(c)...)
	}
	holdBack(c.Gates, sides, o.MaxLeftOut)
	return c
}

// complete sets defaults in b.
func complete(b stats.Bootstrap) stats.Bootstrap {
	b.Draws, b.Seed, b.Level = cmp.Or(b.Draws, 10_000), cmp.Or(b.Seed, 1), cmp.Or(b.Level, 0.95)
	return b
}

// pairOf is a pair and the indices of its entries.
type pairOf struct {
	Pair
	a, b int
}

// everyPair compares the rates of each entry with the rates of all entries after it.
func everyPair(sides []side, b stats.Bootstrap) []pairOf {
	var all []pairOf
	for i := range sides {
		for j := i + 1; j < len(sides); j++ {
			all = append(all, pairOf{newPair(sides[i], sides[j], b), i, j})
		}
	}
	return all
}

// fill adds to a displayed pair everything beside its rates.
func (p *pairOf) fill(sides []side, o Options) {
	a, other, b := sides[p.a], sides[p.b], o.Bootstrap
	p.IntervalA, p.IntervalB = rateIntervals(p.compared, b)
	p.Settings = settings(a.scores, other.scores)
	p.Judged = judged(a, other)
	if o.RatesOnly {
		return
	}
	p.Power = newPower(p.Pair, b)
	p.Cost = newMeasure(a, other, b, func(r result) *float64 { return r.cost })
	p.Steps = newMeasure(a, other, b, func(r result) *float64 { return r.steps })
	p.Seconds = newMeasure(a, other, b, func(r result) *float64 { return r.seconds })
}

// commonOf returns the instances that have a score in every entry.
func commonOf(sides []side) []string {
	var common []string
	for id, r := range sides[0].results {
		if r.scored() && !slices.ContainsFunc(sides[1:], func(s side) bool { return !s.at(id).scored() }) {
			common = append(common, id)
		}
	}
	slices.Sort(common)
	return common
}

// reposOf returns the known repositories of all instances.
func reposOf(sides []side) map[string]string {
	repos := map[string]string{}
	for _, s := range sides {
		for id, r := range s.results {
			repos[id] = cmp.Or(repos[id], r.Repo)
		}
	}
	return repos
}

// adjust corrects the p values and the verdicts for the number of pairs.
func adjust(all []pairOf, b stats.Bootstrap) {
	if len(all) < 2 {
		return
	}
	p := make([]float64, len(all))
	for i, pair := range all {
		p[i] = pair.P
	}
	joint, decides := westfallYoung(all, b)
	for i, adjusted := range stats.Holm(p) {
		all[i].Holm = &adjusted
		if decides {
			all[i].WestfallYoung = &joint[i]
		}
		all[i].Tied = !b.Shows(all[i].Corrected())
	}
}

// westfallYoung corrects the p values of all pairs by [stats.Bootstrap.WestfallYoung], where it
// decides. It cannot where some pairs are tested by repository and others by instance.
func westfallYoung(all []pairOf, b stats.Bootstrap) ([]float64, bool) {
	comparisons, alone, methods := make([][]stats.Pair, len(all)), make([]stats.RateTest, len(all)), map[stats.Method]bool{}
	for i, p := range all {
		if p.N > 0 {
			methods[p.Method] = true
		}
		alone[i] = stats.RateTest{P: p.P, LeastP: p.LeastP}
		comparisons[i] = slices.Clone(p.compared)
		for k, one := range p.compared {
			if one.Cluster == "" || p.Method == stats.ByInstance {
				comparisons[i][k].Cluster = "instance " + p.ids[k]
			}
		}
	}
	if len(methods) > 1 {
		return nil, false
	}
	return b.WestfallYoung(comparisons, alone)
}

// Corrected is the p value that decides.
func (p Pair) Corrected() float64 {
	switch {
	case p.WestfallYoung != nil:
		return *p.WestfallYoung
	case p.Holm != nil:
		return *p.Holm
	}
	return p.P
}

// Correction names the method by which the p values of several pairs are corrected.
func (c Comparison) Correction() string {
	if slices.ContainsFunc(c.Pairs, func(p Pair) bool { return p.WestfallYoung != nil }) {
		return "Westfall and Young's"
	}
	return "Holm's"
}

// rank finds the best entry and the entries that cannot be distinguished from it. The same data
// choose the best entry, so the correction must cover all pairs.
func (c *Comparison) rank(all []pairOf) {
	if c.Common == 0 {
		return
	}
	best := 0
	for i, e := range c.Entries {
		if e.Rate > c.Entries[best].Rate {
			best = i
		}
	}
	c.Best = c.Entries[best].Name
	tied := map[int]bool{best: true}
	for _, p := range all {
		switch {
		case p.a == best:
			tied[p.b] = p.Tied
		case p.b == best:
			tied[p.a] = p.Tied
		}
	}
	for i, e := range c.Entries {
		if tied[i] {
			c.TiedSet = append(c.TiedSet, e.Name)
		}
	}
}

// Nothing returns the first pair that has no instance with a score on both sides.
func (c Comparison) Nothing() (Pair, bool) {
	i := slices.IndexFunc(c.Pairs, func(p Pair) bool { return p.N == 0 })
	if i < 0 {
		return Pair{}, false
	}
	return c.Pairs[i], true
}

// Passed reports whether all gates are passed.
func (c Comparison) Passed() bool {
	return !slices.ContainsFunc(c.Gates, func(r Ruling) bool { return !r.Passed })
}

// notes returns what a reader should know about the entries.
func notes(entries []scores.Side, c Comparison) []string {
	var list []string
	several := slices.ContainsFunc(c.Entries, func(e Side) bool { return e.Attempts > 1 })
	if several {
		list = append(list, "with several attempts, an instance counts by the mean of its attempts, so that counts are sums of fractions")
	}
	for _, p := range c.Pairs {
		list = append(list, settingNotes(p)...)
		list = append(list, judgedNotes(p)...)
	}
	list = append(list, c.Limits()...)
	list = append(list, withoutManifest(entries)...)
	if c.Common == 0 && len(c.Entries) > 2 {
		list = append(list, "no instance has a score in all entries: only pairs are compared")
	}
	return list
}

// Limits describes the limits of the intervals and p values if there are few repositories.
func (c Comparison) Limits() []string {
	var list []string
	least := stats.Bootstrap{Level: c.Level}.Least()
	if slices.ContainsFunc(c.Pairs, func(p Pair) bool { return p.N > 0 && p.Method == stats.ByInstance }) {
		list = append(list, fmt.Sprintf("instances of fewer than %d repositories: the intervals and p are of these repositories, not of others like them", least))
	}
	pairs := c.everyPair()
	i := slices.IndexFunc(c.Pairs, func(p Pair) bool {
		return p.N > 0 && p.WestfallYoung == nil && float64(pairs)*p.LeastP > 1-c.Level+1e-9
	})
	switch {
	case i < 0:
	case pairs == 1:
		list = append(list, fmt.Sprintf("with fewer than %d instances, p is above %.2g whatever they show", least, 1-c.Level))
	default:
		list = append(list, fmt.Sprintf("so few repositories cannot show a difference among %d entries: the least p, %s, is above %.2g after Holm's correction for %d pairs",
			len(c.Entries), pValue(c.Pairs[i].LeastP), 1-c.Level, pairs))
	}
	return list
}

// everyPair is the number of pairs that the p values are corrected for.
func (c Comparison) everyPair() int { return len(c.Entries) * (len(c.Entries) - 1) / 2 }

// ids returns the instances that at least one of the two sides knows, sorted.
func ids(a, b side) []string {
	known := map[string]bool{}
	for id := range a.results {
		known[id] = true
	}
	for id := range b.results {
		known[id] = true
	}
	return slices.Sorted(maps.Keys(known))
}

// ranked returns the entries by rate, the best first; equal entries keep their order.
func (c Comparison) ranked() []Side {
	list := slices.Clone(c.Entries)
	slices.SortStableFunc(list, func(a, b Side) int { return cmp.Compare(b.Rate, a.Rate) })
	return list
}
