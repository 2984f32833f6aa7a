package stats

import (
	"math"
	"testing"
)

// The expected values are from R 4.2.2: p.adjust(c(.01, .04, .03, .005, .2, .04), "holm").
func TestHolmIsThatOfR(t *testing.T) {
	want := []float64{0.05, 0.12, 0.12, 0.03, 0.2, 0.12}
	for i, p := range Holm([]float64{0.01, 0.04, 0.03, 0.005, 0.2, 0.04}) {
		near(t, "adjusted p", p, want[i], 1e-12)
	}
	got := Holm([]float64{math.NaN(), 0.02, 0.03})
	if !math.IsNaN(got[0]) || math.Abs(got[1]-0.04) > 1e-12 || math.Abs(got[2]-0.04) > 1e-12 {
		t.Errorf("with NaN: %v, want NaN 0.04 0.04", got)
	}
	if got := Holm(nil); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}
