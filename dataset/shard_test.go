package dataset_test

import (
	"fmt"
	"testing"

	"batch.example/batch/dataset"
)

// Other rows and other selections never move an instance to another shard: a shard that has begun
// would otherwise pay for an instance of another one.
func TestAnInstanceKeepsItsShard(t *testing.T) {
	const n = 7
	of := func(s dataset.Selection, in []dataset.Instance) map[string]int {
		parts := map[string]int{}
		for i := range n {
			s.Shard = fmt.Sprintf("%d/%d", i+1, n)
			got, err := s.Apply(in)
			if err != nil {
				t.Fatal(err)
			}
			for _, in := range got {
				if parts[in.ID] != 0 {
					t.Errorf("%s is in the shards %d and %d", in.ID, parts[in.ID], i+1)
				}
				parts[in.ID] = i + 1
			}
		}
		return parts
	}
	whole := of(dataset.Selection{}, repos(500))
	if len(whole) != 500 {
		t.Errorf("the shards have %d instances, want 500", len(whole))
	}
	sizes := map[int]int{}
	for _, i := range whole {
		sizes[i]++
	}
	for i, size := range sizes {
		if size < 40 || size > 110 {
			t.Errorf("shard %d has %d of 500 instances, want about a seventh", i, size)
		}
	}
	for name, parts := range map[string]map[string]int{
		"more rows":      of(dataset.Selection{}, repos(600)),
		"fewer rows":     of(dataset.Selection{}, repos(500)[100:]),
		"filtered":       of(dataset.Selection{Filter: "repo[12]"}, repos(500)),
		"shuffled, less": of(dataset.Selection{Shuffle: true, Seed: 1, Slice: "::2"}, repos(500)),
	} {
		for id, i := range parts {
			if whole[id] != 0 && whole[id] != i {
				t.Errorf("%s: %s is in shard %d, was in %d", name, id, i, whole[id])
			}
		}
	}
	// The rule is part of the run directory's format: other programs may apply it.
	for id, want := range map[string]string{"django__django-11019": "3/3", "sympy__sympy-20590": "2/3", "demo__slug-1": "1/3", "demo__factor-4": "3/3"} {
		if shard, err := dataset.ParseShard(want); err != nil || !shard.Has(id) || shard.String() != want {
			t.Errorf("%s is not in shard %s (%v)", id, want, err)
		}
	}
}
