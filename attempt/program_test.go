package attempt

import (
	"strings"
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

func TestWhatAProgramCannotBeStartedWith(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		l  Launched
		ok bool
	}{
		"little":             {Launched{Args: []string{"a"}, Env: []string{"B=c"}, Stdin: strings.Repeat("x", 1<<20)}, true},
		"the longest":        {Launched{Args: []string{strings.Repeat("x", longestArgument-1)}}, true},
		"too much":           {Launched{Args: []string{strings.Repeat("x", longestArgument)}}, false},
		"too much, variable": {Launched{Args: []string{"a"}, Env: []string{"B=" + strings.Repeat("x", longestArgument)}}, false},
		"a NUL":              {Launched{Args: []string{"a\x00b"}}, false},
	} {
		if err := tt.l.check(); (err == nil) != tt.ok || err != nil && fault.KindOf(err) != fault.Instance {
			t.Errorf("%s: %v", name, err)
		}
	}
}
