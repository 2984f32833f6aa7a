package sample

import (
	"slices"
	"testing"
)

func TestASeedRepeatsTheChoice(t *testing.T) {
	t.Setenv("BATCH_TESTS", "")
	t.Setenv("BATCH_SEED", "17")
	first := Of(t, 5, 1000)
	if again := Of(t, 5, 1000); len(first) != 5 || !slices.Equal(again, first) {
		t.Errorf("the same seed chose %v and then %v, want the same five", first, again)
	}
	t.Setenv("BATCH_SEED", "18")
	if other := Of(t, 5, 1000); slices.Equal(other, first) {
		t.Errorf("another seed chose %v too", other)
	}
	t.Setenv("BATCH_TESTS", "all")
	if got := Of(t, 5, 1000); len(got) != 1000 {
		t.Errorf("BATCH_TESTS=all chose %d of 1000", len(got))
	}
}
