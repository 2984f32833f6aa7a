package compare

import (
	"cmp"
	"slices"
)

// ranked returns the entries by rate, the best first; equal entries keep their order.
func (c Comparison) ranked() []Side {
	list := slices.Clone(c.Entries)
	slices.SortStableFunc(list, func(a, b Side) int { return cmp.Compare(b.Rate, a.Rate) })
	return list
}

func contains(list []string, name string) bool { return slices.Contains(list, name) }
