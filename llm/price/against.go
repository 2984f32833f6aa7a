package price

import (
	"maps"
	"math"
	"slices"

	"batch.example/batch/vocab"
)

// Difference is one price of a model that two tables have otherwise, in US dollars per token.
type Difference struct {
	Model   string
	Service string // empty: the standard one
	Above   int64  // tokens of input above which the price is meant; 0: every call that no other line is about
	Member  string // input, cached_input, cache_write, cache_write_1h or output
	Here    float64
	There   float64
}

// Against is the result of comparing two tables.
type Against struct {
	Differences []Difference      // by model, service, length and member
	Compared    []string          // models with a price in both
	Missing     []string          // models with a price only in the first
	Unpriced    []string          // models with a price only in the other, which the first has without one
	Refused     map[string]string // models with a price in the other that is not understood, and why
}

// Against compares the prices of t's models with another table's prices of the same
// models, each under its own name or one that stands for it. The rates of whole calls
// are compared: a length that only one side has rates for is compared with the other side's
// rates for such calls, and a cache without a price of its own costs what other input does,
// as bills count it. Services, and caches kept for an hour, that one side says nothing about are
// not compared.
func (t Table) Against(other Table) Against {
	a := Against{Refused: map[string]string{}}
	for _, name := range slices.Sorted(maps.Keys(t)) {
		here := t[name].Price
		m, found := other.named(name)
		switch {
		case found && m.Refused != "":
			a.Refused[name] = m.Refused
		case here != nil && m.Price == nil:
			a.Missing = append(a.Missing, name)
		case here == nil && m.Price != nil:
			a.Unpriced = append(a.Unpriced, name)
		case here != nil:
			a.Compared = append(a.Compared, name)
			a.Differences = append(a.Differences, compared(name, "", *here, *m.Price)...)
			for _, service := range slices.Sorted(maps.Keys(here.Services)) {
				if there, both := m.Price.Services[service]; both {
					a.Differences = append(a.Differences, compared(name, service, here.Services[service], there)...)
				}
			}
		}
	}
	return a
}

// compared are the differences of a service's rates, by length.
func compared(name, service string, here, there vocab.Price) []Difference {
	lengths := []int64{0}
	for _, tier := range slices.Concat(here.Tiers, there.Tiers) {
		lengths = append(lengths, tier.Above)
	}
	slices.Sort(lengths)
	var list []Difference
	for _, above := range slices.Compact(lengths) {
		h, t := members(here.At(above+1)), members(there.At(above+1))
		for i, member := range h {
			if other := t[i]; member.known && other.known && !equal(member.rate, other.rate) {
				list = append(list, Difference{name, service, above, member.name, member.rate, other.rate})
			}
		}
	}
	return list
}

// rate is one member of rates.
type rate struct {
	name  string
	rate  float64
	known bool
}

// members has the price of each kind of token. Without a price of its own, writing to a cache
// costs what other input does; for a cache that is kept for an hour the price is not known.
func members(r vocab.Rates) []rate {
	write := r.CacheWrite
	if write == 0 && !r.FreeWrite {
		write = r.Input
	}
	return []rate{
		{"input", r.Input, true},
		{"cached_input", r.CachedInput, true},
		{"cache_write", write, true},
		{"cache_write_1h", r.CacheHour, r.CacheHour > 0 || r.FreeHour},
		{"output", r.Output, true},
	}
}

// equal allows for the last digits of a price that was divided or written otherwise.
func equal(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b)) }
