// Package tiny is what mutation's own test changes.
package tiny

import "errors"

var errNegative = errors.New("negative")

// Half has tests that hold all of it.
func Half(n int) (int, error) {
	if n < 0 {
		return 0, errNegative
	}
	return n / 2, nil
}

// Loose has a test that holds nothing but its result.
func Loose(n int) int {
	seen++
	return n
}

var seen int
