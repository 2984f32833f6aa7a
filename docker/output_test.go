package docker

import (
	"bytes"
	"testing"
)

func TestACappedOutputIsItsEnds(t *testing.T) {
	written := make([]byte, 1000)
	for i := range written {
		written[i] = byte(i*7 + i/256)
	}
	for _, limit := range []int{1, 2, 3, 10, 99, 100, 999, 1000, 1001} {
		for _, step := range []int{1, 2, 7, 100, 333, 1000} {
			for _, longer := range []func([]byte) bool{
				nil,
				func([]byte) bool { return false },
				func(begin []byte) bool {
					if !bytes.Equal(begin, written[:min(limit, len(written))]) {
						t.Errorf("limit %d, step %d: asked with %d bytes, want the first %d", limit, step, len(begin), limit)
					}
					return true
				},
			} {
				c := newCapped(int64(limit), longer)
				for rest := written; len(rest) > 0; {
					n := min(step, len(rest))
					c.add(rest[:n])
					rest = rest[n:]
				}
				want := written
				if whole := longer != nil && longer(written[:min(limit, len(written))]); limit < len(written) && !whole {
					want = append(bytes.Clone(written[:limit-limit/2]), written[len(written)-limit/2:]...)
				}
				if !bytes.Equal(c.bytes(), want) || c.total != int64(len(written)) {
					t.Errorf("limit %d, step %d: kept %d of %d bytes, want %d", limit, step, len(c.bytes()), c.total, len(want))
				}
			}
		}
	}
}
