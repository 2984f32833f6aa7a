package python

import (
	"math/bits"

	"gonum.org/v1/gonum/mathext/prng"
)

// Shuffle shuffles n positions as Python does with random.seed(seed) and random.shuffle.
func Shuffle(seed int64, n int, swap func(i, j int)) {
	random := seeded(seed)
	for i := n - 1; i > 0; i-- {
		swap(i, below(random, i+1))
	}
}

// seeded returns a generator as after random.seed(seed): Python seeds it with the 32-bit
// words of the absolute value.
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

// below returns a random number in [0, n). It draws again while the number is too large.
func below(random *prng.MT19937, n int) int {
	k := bits.Len(uint(n))
	for {
		if r := int(random.Uint32() >> (32 - k)); r < n {
			return r
		}
	}
}
