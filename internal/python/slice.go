package python

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Slice is a slice: start, stop and step; nil parts were left out.
type Slice [3]*int

// ParseSlice reads what slice(*map(int, text.split(":"))) would take.
func ParseSlice(text string) (Slice, error) {
	parts := strings.Split(text, ":")
	if len(parts) > 3 {
		return Slice{}, fmt.Errorf("%d parts where 3 are the most", len(parts))
	}
	if len(parts) == 1 {
		parts = []string{"", text}
	}
	var s Slice
	for i, part := range parts {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		n, err := strconv.Atoi(part) // what is out of range comes back as the nearest that is not
		if err != nil && n != math.MaxInt && n != math.MinInt {
			return Slice{}, fmt.Errorf("%q is not a whole number", part)
		}
		s[i] = &n
	}
	if s[2] != nil && *s[2] == 0 {
		return Slice{}, fmt.Errorf("the step is zero")
	}
	return s, nil
}

// Indices returns the positions that the slice takes of a list of n, by the
// rules of docs.python.org/3/library/stdtypes.html#common-sequence-operations.
func (s Slice) Indices(n int) []int {
	step := 1
	if s[2] != nil {
		step = *s[2]
	}
	start, stop := 0, n
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
	start, stop = bound(s[0], start), bound(s[1], stop)
	var out []int
	// The distance left is compared, not the next position, which could overflow.
	for i := start; step > 0 && i < stop || step < 0 && i > stop; {
		out = append(out, i)
		if left := stop - i; step > 0 && left <= step || step < 0 && left >= step {
			break
		}
		i += step
	}
	return out
}
