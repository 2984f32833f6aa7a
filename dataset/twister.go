package dataset

import "math/bits"

// twister is the generator behind Python's random module, MT19937
// (Matsumoto and Nishimura, 1998), so that a seed shuffles as it does there.
type twister struct {
	state [624]uint32
	next  int
}

// newTwister seeds as random.seed(seed) does: by the absolute value's 32-bit words.
func newTwister(seed int64) *twister {
	n := uint64(seed)
	if seed < 0 {
		n = -n
	}
	key := []uint32{uint32(n)}
	if n > 0xffffffff {
		key = append(key, uint32(n>>32))
	}
	t := &twister{}
	t.seedByArray(key)
	return t
}

func (t *twister) seedByArray(key []uint32) {
	s := &t.state
	s[0] = 19650218
	for i := uint32(1); i < 624; i++ {
		s[i] = 1812433253*(s[i-1]^s[i-1]>>30) + i
	}
	i, j := 1, 0
	step := func() {
		if i++; i >= 624 {
			s[0] = s[623]
			i = 1
		}
	}
	for range 624 {
		s[i] = (s[i] ^ (s[i-1]^s[i-1]>>30)*1664525) + key[j] + uint32(j)
		step()
		j = (j + 1) % len(key)
	}
	for range 623 {
		s[i] = (s[i] ^ (s[i-1]^s[i-1]>>30)*1566083941) - uint32(i)
		step()
	}
	s[0] = 0x80000000
	t.next = 624
}

func (t *twister) refill() {
	s := &t.state
	for k := range s {
		y := s[k]&0x80000000 | s[(k+1)%624]&0x7fffffff
		s[k] = s[(k+397)%624] ^ y>>1
		if y&1 != 0 {
			s[k] ^= 0x9908b0df
		}
	}
	t.next = 0
}

func (t *twister) uint32() uint32 {
	if t.next == 624 {
		t.refill()
	}
	y := t.state[t.next]
	t.next++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// below returns a number in [0, n), drawing again while one does not fit.
func (t *twister) below(n int) int {
	k := bits.Len(uint(n))
	for {
		if r := int(t.uint32() >> (32 - k)); r < n {
			return r
		}
	}
}

// shuffle swaps as random.shuffle does. n must be below 1<<32.
func (t *twister) shuffle(n int, swap func(i, j int)) {
	for i := n - 1; i > 0; i-- {
		swap(i, t.below(i+1))
	}
}
