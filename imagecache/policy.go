package imagecache

import (
	"cmp"
	"slices"
	"time"
)

// view is what a choice of victims depends on.
type view struct {
	entries []Entry         // of the ledger, that the engine has
	used    map[string]bool // ids that containers have
	held    map[string]bool // names of images that instances of this run have now
	ahead   map[string]bool // refs that it needs next
	next    map[string]int  // ref -> place in the plan where the run needs it again
}

// victims returns the images that may be evicted, the first to go first. Those
// needed next are among them only when nothing else is left to do.
func (v view) victims(desperate bool) []Entry {
	var out []Entry
	for _, e := range v.entries {
		if !v.held[nameOf(e.Ref)] && !v.used[e.ID] && (desperate || !v.ahead[e.source()]) {
			out = append(out, e)
		}
	}
	needed := map[string]time.Time{} // by source
	for _, e := range out {
		if at := e.Needed; at.After(needed[e.source()]) {
			needed[e.source()] = at
		}
	}
	slices.SortStableFunc(out, func(a, b Entry) int {
		nextA, againA := v.next[a.source()]
		nextB, againB := v.next[b.source()]
		switch {
		case againA != againB && againA:
			return 1
		case againA != againB:
			return -1
		case againA && nextA != nextB:
			return cmp.Compare(nextB, nextA)
		}
		return cmp.Or(
			needed[a.source()].Compare(needed[b.source()]),
			cmp.Compare(a.source(), b.source()),
			cmp.Compare(b.Of, a.Of), // what is made of another one goes before it
			cmp.Compare(a.Ref, b.Ref),
		)
	})
	return out
}

// source is what the plan calls the image that e is, or is made of.
func (e Entry) source() string { return cmp.Or(e.Of, e.Ref) }

// size returns the bytes that the images take together, layers that they share
// counted once.
func size(entries []Entry) int64 {
	var sum int64
	seen := map[string]bool{}
	for _, e := range entries {
		if len(e.Layers) == 0 {
			sum += e.Size
		}
		for _, l := range e.Layers {
			if l.ID == "" || !seen[l.ID] {
				sum += l.Size
			}
			seen[l.ID] = true
		}
	}
	return sum
}
