package stats_test

import (
	"math"
	"testing"

	"batch.example/batch/report/stats"
)

// If A is changed by an end of the relative interval, the interval of the difference between A and
// B ends at 0.
func TestTheRelativeIntervalInvertsTheDifference(t *testing.T) {
	var pairs []stats.Pair
	for i := range 40 {
		pairs = append(pairs, stats.Pair{Cluster: string(rune('a' + i%9)), A: 1 + float64(i%5), B: 1.2 + float64(i*i%7)})
	}
	b := stats.Bootstrap{Draws: 2000}
	in := b.RelativeDifference(pairs)
	changed := func(by float64) []stats.Pair {
		list := append([]stats.Pair{}, pairs...)
		for i := range list {
			list[i].A *= 1 + by
		}
		return list
	}
	if at := b.Difference(changed(in.Low)); math.Abs(at.Low) > 1e-9 {
		t.Errorf("at %v the difference begins at %v, want 0", in.Low, at.Low)
	}
	if at := b.Difference(changed(in.High)); math.Abs(at.High) > 1e-9 {
		t.Errorf("at %v the difference ends at %v, want 0", in.High, at.High)
	}
	if in.Low >= in.High || in.Low < -1 {
		t.Errorf("got %v", in)
	}
}

func TestTheRelativeIntervalIsUnknownWithoutABase(t *testing.T) {
	var zero, few []stats.Pair
	for i := range 20 {
		zero = append(zero, stats.Pair{Cluster: string(rune('a' + i)), A: 0, B: 1})
	}
	few = append(few, stats.Pair{A: 1, B: 2})
	for _, pairs := range [][]stats.Pair{zero, few, nil} {
		if in := (stats.Bootstrap{}).RelativeDifference(pairs); in.Known() {
			t.Errorf("%d pairs: got %v", len(pairs), in)
		}
	}
}
