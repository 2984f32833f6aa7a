package manifest_test

import (
	"strings"
	"testing"

	"batch.example/batch/results/manifest"
)

// A directory's selection contains the selections of all runs into it.
func TestSelectionsAddUp(t *testing.T) {
	for _, c := range []struct{ was, now, want, selection string }{
		{"a b c", "b", "a b c", "was"},
		{"a b c", "c b a", "a b c", "was"},
		{"b", "a b c", "b a c", "now"},
		{"a b", "b c", "a b c", "was, then now"},
		{"", "a", "a", "now"},
	} {
		d := manifest.Dataset{Selection: "now", Instances: strings.Fields(c.now)}
		d.Add(manifest.Dataset{Selection: "was", Instances: strings.Fields(c.was)})
		if got := strings.Join(d.Instances, " "); got != c.want || d.Selection != c.selection || d.Count != len(d.Instances) {
			t.Errorf("%q and %q: %q (%d), %q; want %q, %q", c.was, c.now, got, d.Count, d.Selection, c.want, c.selection)
		}
	}
}
