package python

import (
	"math/bits"

	"gonum.org/v1/gonum/mathext/prng"
)

// Shuffle swaps n positions as random.seed(seed) and random.shuffle do.
func Shuffle(seed int64, n int, swap func(i, j int)) {
	random := seeded(seed)
	for i := n - 1; i > 0; i-- {
		swap(i, below(random, i+1))
	}
}

// seeded is random.seed(seed): by the absolute value's 32-bit words.
func seeded(seed int64) *prng.MT19937 {
	n := uint64(seed)
	if seed < 0 {
		n = -n
	}
	key := []uint32{uint32(n)}
	if n > 0xffffffff {
		key = append(key, uint32(n>>32))
	}
	random := prng.NewMT19937()
	random.SeedFromKeys(key)
	return random
}

// below returns a number in [0, n), drawing again while one does not fit.
func below(random *prng.MT19937, n int) int {
	k := bits.Len(uint(n))
	for {
		if r := int(random.Uint32() >> (32 - k)); r < n {
			return r
		}
	}
}
