package stats

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// alone returns n pairs of one repository; each side wins a tenth of them.
func alone(n int) []Pair {
	pairs := make([]Pair, n)
	for i := range pairs {
		pairs[i].Cluster = "a"
		switch i % 10 {
		case 0:
			pairs[i].A = 1
		case 5:
			pairs[i].B = 1
		}
	}
	return pairs
}

// By instance, the plan is Connor's formula. In Python, with D = 21 / 101, since the test adds an instance:
//
//	NormalDist().cdf((.1 * 100**.5 - 1.959964 * D**.5) / (D - .01)**.5)
func TestPowerByInstanceIsConnors(t *testing.T) {
	p := Bootstrap{}.Plan(alone(100))
	near(t, "power", p.Power(100, 0.1), 0.5944142, 1e-6)
	near(t, "power of the opposite", p.Power(100, -0.1), p.Power(100, 0.1), 0)
	near(t, "power of five instances", p.Power(5, 1), 0, 0)
}

func TestNeededAndDetectableAgree(t *testing.T) {
	for name, pairs := range map[string][]Pair{
		"by instance":   alone(100),
		"by repository": scenario{n: 500, repos: 12, attempts: 1, discordant: 0.2}.pairs(rand.New(rand.NewPCG(3, 3))),
		"30":            scenario{n: 300, repos: 30, attempts: 3, discordant: 0.3}.pairs(rand.New(rand.NewPCG(4, 4))),
	} {
		p := Bootstrap{}.Plan(pairs)
		d, ok := p.Detectable(0.8)
		if !ok || d < 0.02 || d > 0.5 {
			t.Fatalf("%s: %v %v", name, d, ok)
		}
		if n, ok := p.Needed(d, 0.8); !ok || n < len(pairs)*8/10 || n > len(pairs)*12/10 {
			t.Errorf("%s: %d instances show %v, which needs %d", name, len(pairs), d, n)
		}
	}
}

// If the repositories disagree and are few, more instances of them never show a difference.
func TestMoreInstancesDoNotHelpWhereRepositoriesDisagree(t *testing.T) {
	var pairs []Pair
	for i := range 300 {
		p := Pair{Cluster: strconv.Itoa(i % 6)}
		if i%6 < 2 {
			p.A = 1
		} else {
			p.B = 1
		}
		pairs = append(pairs, p)
	}
	if n, ok := (Bootstrap{}).Plan(pairs).Needed(1.0/3, 0.8); ok {
		t.Errorf("needs %d", n)
	}
}

func TestPlansOfTheImpossible(t *testing.T) {
	nan := math.NaN()
	p := Bootstrap{}.Plan(alone(100))
	for _, c := range [][2]float64{{0, 0.8}, {1.5, 0.8}, {nan, 0.8}, {0.1, 1}, {0.1, nan}, {1e-9, 0.8}} {
		if n, ok := p.Needed(c[0], c[1]); ok {
			t.Errorf("Needed%v is %d", c, n)
		}
	}
	if d, ok := (Bootstrap{}).Plan(alone(5)).Detectable(0.8); ok {
		t.Errorf("five instances show %v", d)
	}
	for _, none := range []Plan{{}, (Bootstrap{}).Plan(nil), (Bootstrap{}).Plan([]Pair{{A: nan}}), (Bootstrap{Level: 2}).Plan(alone(9))} {
		if d, ok := none.Detectable(0.8); ok || !math.IsNaN(none.Power(10, 0.1)) {
			t.Errorf("a plan of nothing shows %v", d)
		}
	}
}

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
