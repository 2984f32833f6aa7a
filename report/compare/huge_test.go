package compare_test

import (
	"encoding/json"
	"math"
	"testing"

	"batch.example/batch/report/compare"
	"batch.example/batch/results/scores"
)

// A file of another tool may have any cost. Sums that overflow are unknown; JSON cannot hold them,
// and the rest of the comparison is still needed.
func TestHugeCostsAreNotKnown(t *testing.T) {
	priced := func(e scores.Side, cost ...float64) scores.Side {
		n := 0
		for id, s := range e.Runs[0].Scores {
			s.Cost, s.Seconds = &cost[n%len(cost)], &cost[n%len(cost)]
			e.Runs[0].Scores[id] = s
			n++
		}
		return e
	}
	for name, costs := range map[string][2][]float64{
		"sums":         {{math.MaxFloat64}, {1}},
		"differences":  {{-1e308, 0, 0, 0, 0, 0, 0, 0}, {1.7e308, 0, 0, 0, 0, 0, 0, 0}},
		"shares":       {{5e-324}, {1e300}},
		"not a number": {{math.NaN(), math.Inf(1)}, {math.Inf(-1)}},
	} {
		a, b := priced(entry("a", "yyyynnnn"), costs[0]...), priced(entry("b", "yynnyynn"), costs[1]...)
		g, err := compare.ParseGate("cost <= 10%")
		if err != nil {
			t.Fatal(err)
		}
		c := compare.New([]scores.Side{a, b}, compare.Options{Gates: []compare.Gate{g}})
		if _, err := json.Marshal(c); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if c.Passed() {
			t.Errorf("%s: the gate passed: %+v", name, c.Gates)
		}
	}
}
