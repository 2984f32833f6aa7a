package imagecache

import (
	"cmp"
	"slices"
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
		if !v.held[nameOf(e.Ref)] && !v.used[e.ID] && (desperate || !v.ahead[e.Ref]) {
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
		case againA:
			return cmp.Compare(nextB, nextA)
		}
		return cmp.Or(a.Needed.Compare(b.Needed), cmp.Compare(a.Ref, b.Ref))
	})
	return out
}

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
