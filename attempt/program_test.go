package attempt

import (
	"testing"

	"batch.example/batch/fault"
)

// A program that starts nowhere stops the run; one that has started somewhere does not.
func TestAProgramThatMakesNoCallAnywhereStopsTheRun(t *testing.T) {
	t.Parallel()
	for _, begun := range []int64{0, 1} {
		var p Program
		p.begun.Store(begun)
		for n := range mute + 1 {
			want := fault.Transient
			if begun == 0 && n+1 >= mute {
				want = fault.Host
			}
			if err := p.silent("exit code 127"); fault.KindOf(err) != want {
				t.Errorf("attempt %d, %d have begun: %v, want a %v fault", n+1, begun, err, want)
			}
		}
	}
}
