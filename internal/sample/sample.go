// Package sample chooses what the expensive tests run with -short, as in `make test`. Crashes at every
// point, simulations and soaks take minutes; a sample of them in every pass, drawn again each time, finds
// within some passes what the whole finds in one. Without -short, as in `make test-all`, all runs. The seed
// and the share are in the test's log; BATCH_SEED=17 chooses as the pass did that printed 17.
//
// A test that samples must still fail for the defect that it is about, whatever the seed: it
// names the cases that are the point of it, and draws only from the others.
package sample

import (
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
)

// All reports whether everything runs.
func All() bool { return !testing.Short() }

// Seed returns BATCH_SEED, or a random seed, the same for the whole process. It is logged.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed, err := seedOf(os.Getenv("BATCH_SEED"))
	if err != nil {
		t.Fatalf("BATCH_SEED is not a number: %v", err)
	}
	t.Logf("seed %d; BATCH_SEED=%d repeats it", seed, seed)
	return seed
}

// ofProcess is short, since people type it.
var ofProcess = sync.OnceValue(func() uint64 { return uint64(rand.Uint32N(1_000_000)) })

func seedOf(text string) (uint64, error) {
	if text == "" {
		return ofProcess(), nil
	}
	return strconv.ParseUint(text, 10, 64)
}

// Rand is a source of random numbers for one test: what it gives depends on the seed and on
// the test's name, and on nothing that another test does.
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	name := fnv.New64a()
	name.Write([]byte(t.Name()))
	return rand.New(rand.NewPCG(Seed(t), name.Sum64()))
}

// Of chooses k of the numbers from 0 to n-1, in order; all of them with [All].
func Of(t testing.TB, k, n int) []int {
	t.Helper()
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return Some(t, k, all)
}

// Some chooses k of a list, in its order; the whole of it with [All].
func Some[E any](t testing.TB, k int, list []E) []E {
	t.Helper()
	if All() || k >= len(list) {
		return list
	}
	chosen := Rand(t).Perm(len(list))[:k]
	slices.Sort(chosen)
	t.Logf("sampled %d of %d", k, len(list))
	some := make([]E, k)
	for i, at := range chosen {
		some[i] = list[at]
	}
	return some
}
