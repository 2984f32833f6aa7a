package imagecache

import (
	"cmp"
	"slices"
	"time"
)

// view is what the choice of victims depends on.
type view struct {
	entries []Entry         // the images of the ledger that the engine has
	used    map[string]bool // ids of images that containers use
	held    map[string]bool // names of images that instances of this run have now
	ahead   map[string]bool // refs that this run needs next
	next    map[string]int  // ref -> place in the plan at which the run needs it again
}

// victims returns the images that may be evicted, in the order in which to evict them.
// Force includes those that the run needs next.
func (v view) victims(force bool) []Entry {
	var out []Entry
	for _, e := range v.entries {
		if !v.held[nameOf(e.Ref)] && !v.used[e.ID] && (force || !v.ahead[e.source()]) {
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
			cmp.Compare(b.Of, a.Of), // a derived image before its base image
			cmp.Compare(a.Ref, b.Ref),
		)
	})
	return out
}

// source returns the ref of e's base image, or of e if it is not derived. The plan has only
// such refs.
func (e Entry) source() string { return cmp.Or(e.Of, e.Ref) }

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
