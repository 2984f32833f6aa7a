package sample

import (
	"slices"
	"testing"
)

func TestASeedRepeatsTheChoice(t *testing.T) {
	t.Setenv("BATCH_TESTS", "")
	t.Setenv("BATCH_SEED", "17")
	first := Of(t, 5, 1000)
	if again := Of(t, 5, 1000); !slices.Equal(first, again) {
		t.Errorf("the same seed chose %v and then %v", first, again)
	}
	if len(first) != 5 || !slices.IsSorted(first) || len(slices.Compact(slices.Clone(first))) != 5 {
		t.Errorf("chose %v, want five different numbers in order", first)
	}
	t.Setenv("BATCH_SEED", "18")
	if other := Of(t, 5, 1000); slices.Equal(first, other) {
		t.Errorf("another seed chose %v too", other)
	}
	t.Run("another test", func(t *testing.T) {
		t.Setenv("BATCH_SEED", "17")
		if other := Of(t, 5, 1000); slices.Equal(first, other) {
			t.Errorf("another test chose %v too", other)
		}
	})
}

func TestEveryCaseIsChosenBySomeSeed(t *testing.T) {
	t.Setenv("BATCH_TESTS", "")
	chosen := map[string]bool{}
	for _, seed := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15"} {
		t.Setenv("BATCH_SEED", seed)
		for _, s := range Some(t, 2, []string{"a", "b", "c", "d"}) {
			chosen[s] = true
		}
	}
	if len(chosen) != 4 {
		t.Errorf("15 seeds chose only %v", chosen)
	}
}

func TestAllRunsEverything(t *testing.T) {
	for name, value := range map[string]string{"BATCH_TESTS": "all", "BATCH_SEED": "all"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("BATCH_TESTS", "")
			t.Setenv("BATCH_SEED", "1")
			if got := Of(t, 2, 4); len(got) != 2 {
				t.Errorf("chose %v without it, want 2", got)
			}
			t.Setenv(name, value)
			if got := Of(t, 2, 4); len(got) != 4 {
				t.Errorf("chose %v, want all 4", got)
			}
			if got := Seed(t); got != Seed(t) || got >= 1_000_000 && name == "BATCH_SEED" {
				t.Errorf("the seed is %d, want a random one that stays", got)
			}
		})
	}
	t.Setenv("BATCH_TESTS", "")
	t.Setenv("BATCH_SEED", "")
	if got := Of(t, 5, 4); len(got) != 4 {
		t.Errorf("chose %v of 4, want all", got)
	}
}

func TestASeedMustBeANumber(t *testing.T) {
	if _, err := seedOf("seventeen"); err == nil {
		t.Error("a seed that is not a number is accepted")
	}
}
