package python

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Slice is a Python slice: start, stop and step. Parts that were left out are nil.
type Slice [3]*int

// ParseSlice parses text as slice(*map(int, text.split(":"))) does, and also allows empty
// parts.
func ParseSlice(text string) (Slice, error) {
	parts := strings.Split(text, ":")
	if len(parts) > 3 {
		return Slice{}, fmt.Errorf("%d parts, expected at most 3", len(parts))
	}
	if len(parts) == 1 {
		parts = []string{"", text}
	}
	var s Slice
	for i, part := range parts {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		n, err := strconv.Atoi(part) // a number out of range becomes the nearest one in range
		if err != nil && n != math.MaxInt && n != math.MinInt {
			return Slice{}, fmt.Errorf("%q is not a whole number", part)
		}
		s[i] = &n
	}
	if s[2] != nil && *s[2] == 0 {
		return Slice{}, fmt.Errorf("the step must not be zero")
	}
	return s, nil
}

// Bounds returns where the slice of a list of length n begins, where it stops, and its step,
// by the rules of docs.python.org/3/library/stdtypes.html#common-sequence-operations.
func (s Slice) Bounds(n int) (start, stop, step int) {
	step = 1
	if s[2] != nil {
		step = *s[2]
	}
	start, stop = 0, n
	low, high := 0, n
	if step < 0 {
		low, high = -1, n-1
		start, stop = high, low
	}
	bound := func(p *int, otherwise int) int {
		if p == nil {
			return otherwise
		}
		i := *p
		if i < 0 {
			i += n
		}
		return min(max(i, low), high)
	}
	return bound(s[0], start), bound(s[1], stop), step
}

// Indices returns the positions that the slice selects from a list of length n.
func (s Slice) Indices(n int) []int {
	start, stop, step := s.Bounds(n)
	var out []int
	// The loop compares the remaining distance, because the next position could overflow.
	for i := start; step > 0 && i < stop || step < 0 && i > stop; {
		out = append(out, i)
		if left := stop - i; step > 0 && left <= step || step < 0 && left >= step {
			break
		}
		i += step
	}
	return out
}
