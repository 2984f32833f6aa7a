package sample

import (
	"slices"
	"testing"
)

func TestASeedRepeatsTheChoice(t *testing.T) {
	t.Setenv("BATCH_SEED", "17")
	first := Of(t, 5, 1000)
	if All() {
		if len(first) != 1000 {
			t.Errorf("without -short it chose %d of 1000", len(first))
		}
		return
	}
	if again := Of(t, 5, 1000); len(first) != 5 || !slices.Equal(again, first) {
		t.Errorf("the same seed chose %v and then %v, want the same five", first, again)
	}
	t.Setenv("BATCH_SEED", "18")
	if other := Of(t, 5, 1000); slices.Equal(other, first) {
		t.Errorf("another seed chose %v too", other)
	}
}
