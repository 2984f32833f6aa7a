package near_test

import (
	"testing"

	"batch.example/batch/internal/near"
)

func TestName(t *testing.T) {
	for _, c := range []struct{ what, want, near string }{
		{"one letter is missing", "step_limt", "step_limit"},
		{"two letters changed places", "agnet", "agent"},
		{"only the case differs", "STEP_LIMIT", "step_limit"},
		{"the name itself is there", "agent", "agent"},
		{"two names are equally far", "aaab", "aaaa"},
		{"of two names, one only has a letter more", "tsk", "task"},
		{"no name has all letters", "nsk", "ask"},
		{"a short name has little in common", "xyzw", ""},
		{"no letter of a name is right", "xy", ""},
		{"a short name has one letter too few", "ij", "ijk"},
		{"a long name has little in common", "zzzzzzzzzzzzzzzzzzzzzzzz", ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			if got := near.Name(c.want, []string{"step_limit", "aaac", "aaaa", "agent", "b", "ijk", "ask", "task"}); got != c.near {
				t.Errorf("%q for %q, want %q", got, c.want, c.near)
			}
		})
	}
	if got := near.Name("agent", nil); got != "" {
		t.Errorf("got %q of no names, want nothing", got)
	}
}

func TestHint(t *testing.T) {
	for _, c := range []struct{ best, rest, hint string }{
		{"agent", "give a key", "did you mean agent? give a key"},
		{"agent", "", "did you mean agent?"},
		{"", "give a key", "give a key"},
	} {
		if got := near.Hint(c.best, c.rest); got != c.hint {
			t.Errorf("%q for %q and %q, want %q", got, c.best, c.rest, c.hint)
		}
	}
}
