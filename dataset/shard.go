package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"batch.example/batch/fault"
)

// Shard is one of N parts of a dataset, for one of several machines. An instance's shard depends
// only on its id and N: neither other instances nor the other steps of a selection move it. So
// shards have about the same size, and a shard of few instances may be empty.
type Shard struct{ I, N int } // the I-th of N, from 1

// ParseShard reads "i/n". An empty text is the whole, 1/1. Another form is a Usage fault.
func ParseShard(text string) (Shard, error) {
	if text == "" {
		return Shard{1, 1}, nil
	}
	first, second, ok := strings.Cut(text, "/")
	i, err1 := strconv.Atoi(first)
	n, err2 := strconv.Atoi(second)
	if !ok || err1 != nil || err2 != nil || n < 1 || i < 1 || i > n {
		return Shard{}, fault.Newf(fault.Usage, "reading --shard %s: expected i/n with 1 <= i <= n", text).
			WithHint("--shard 2/3 is the second of three parts")
	}
	return Shard{i, n}, nil
}

// String returns "i/n".
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.I, s.N) }

// MarshalText returns "i/n".
func (s Shard) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Has reports whether an instance belongs to the shard: if the first 8 bytes of its id's SHA-256,
// read as a big-endian number, modulo N are I-1.
func (s Shard) Has(id string) bool {
	sum := sha256.Sum256([]byte(id))
	return binary.BigEndian.Uint64(sum[:8])%uint64(s.N) == uint64(s.I-1) //nolint:gosec // both are positive
}

// EmptyShardError says that a shard has none of the selected instances. That is not a mistake.
type EmptyShardError struct {
	Shard string
	Of    int // instances that the other steps of the selection left
}

// Error names the shard.
func (e *EmptyShardError) Error() string {
	return fmt.Sprintf("--shard %s leaves none of %d", e.Shard, e.Of)
}
