package imagecache

import (
	"cmp"
	"slices"
)

// view is the state on which the choice of victims depends.
type view struct {
	entries []Entry         // the images of the ledger that the engine has
	used    map[string]bool // ids of images that containers use
	held    map[string]bool // names of images that instances of this run have now
	ahead   map[string]bool // refs that this run needs next
	next    map[string]int  // ref -> place in the plan at which the run needs it again
}

// victims returns the images that may be evicted, in the order in which to evict them.
// Force includes the images that the run needs next.
func (v view) victims(force bool) []Entry {
	var out []Entry
	for _, e := range v.entries {
		if !v.held[nameOf(e.Ref)] && !v.used[e.ID] && (force || !v.ahead[e.Ref]) {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b Entry) int {
		nextA, againA := v.next[a.Ref]
		nextB, againB := v.next[b.Ref]
		switch {
		case againA != againB && againA:
			return 1
		case againA != againB:
			return -1
		case againA && nextA != nextB:
			return cmp.Compare(nextB, nextA)
		}
		return cmp.Or(a.Needed.Compare(b.Needed), cmp.Compare(a.Ref, b.Ref))
	})
	return out
}

// size returns the bytes that the images use together. It counts shared layers once.
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
