package stats

import "testing"

// The values are from Python's statistics.NormalDist.
func TestTheNormalDistributionIsPythons(t *testing.T) {
	for x, want := range map[float64]float64{
		-3: 0.0013498980316301035, -1.5: 0.06680720126885809, 0: 0.5, 0.3: 0.6179114221889526, 1.959963984540054: 0.975, 5: 0.9999997133484282,
	} {
		near(t, "probability", normalBelow(x)/want, 1, 1e-12)
	}
	for level, want := range map[float64]float64{
		0: 0, 0.5: 0.6744897501960817, 0.8: 1.2815515655446008, 0.9: 1.6448536269514715, 0.95: 1.9599639845400536, 0.99: 2.5758293035489, 0.999: 3.2905267314919255,
	} {
		near(t, "bound", normalBound(level), want, 1e-12)
	}
}
