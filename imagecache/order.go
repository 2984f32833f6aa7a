package imagecache

import "strings"

// Group orders items so that those with the same keys are together: it groups them by the
// first key, within each group by the second key, and so on. Groups are in the order of
// their first item, and items keep their order within a group. Every item must have
// the same number of keys.
func Group[T any](items []T, keys func(T) []string) []T {
	if len(items) == 0 {
		return nil
	}
	return group(items, keys, 0)
}

func group[T any](items []T, keys func(T) []string, depth int) []T {
	if len(items) < 2 || depth == len(keys(items[0])) {
		return items
	}
	var order []string
	groups := map[string][]T{}
	for _, item := range items {
		key := keys(item)[depth]
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], item)
	}
	out := make([]T, 0, len(items))
	for _, key := range order {
		out = append(out, group(groups[key], keys, depth+1)...)
	}
	return out
}

// Repository returns the part of an image's name before tag and digest.
func Repository(ref string) string {
	ref, _, _ = strings.Cut(ref, "@")
	if colon := strings.LastIndex(ref, ":"); colon > strings.LastIndex(ref, "/") {
		ref = ref[:colon]
	}
	return ref
}
