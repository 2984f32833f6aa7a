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
		{"a short name has little in common", "xyzw", ""},
		{"a long name has little in common", "zzzzzzzzzzzzzzzzzzzzzzzz", ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			if got := near.Name(c.want, []string{"step_limit", "aaac", "aaaa", "agent"}); got != c.near {
				t.Errorf("%q for %q, want %q", got, c.want, c.near)
			}
		})
	}
	if got := near.Name("agent", nil); got != "" {
		t.Errorf("%q of no names", got)
	}
}
