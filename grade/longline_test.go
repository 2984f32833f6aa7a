//go:build !race

package grade_test

import (
	"strings"
	"testing"

	"batch.example/batch/internal/tier"
)

// A patch can print anything: a verdict must not wait for minutes for one long line.
func TestALongLineOfWordsTakesLinearTime(t *testing.T) {
	tier.Rest(t)
	for _, unit := range []string{"cut ", "[cut ", "line cut"} {
		if j := doubtOf(t, strings.Repeat(unit, 200_000/len(unit))+"\n"); j.Doubt != "" {
			t.Errorf("%q: %q", unit, j.Doubt)
		}
	}
}
