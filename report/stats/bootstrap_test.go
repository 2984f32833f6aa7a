package stats

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// eight returns fourteen pairs of eight clusters.
func eight() []Pair {
	clusters := "aabcccdeffghhb"
	var pairs []Pair
	for i, d := range []float64{.5, -1, 2, 3.25, 0, 1.75, -.6, .9, 4.1, 1.3, -2.2, .7, 1.15, 3.3} {
		pairs = append(pairs, Pair{Cluster: clusters[i : i+1], B: d})
	}
	return pairs
}

// The expected values are from R 4.2.2:
//
//	s <- tapply(d, g, sum); n <- tapply(d, g, length)
//	k <- as.matrix(expand.grid(rep(list(0:1), 8)))[-1, ]
//	m <- sort(as.vector((k %*% s) / (k %*% n))); N <- length(m)
//	k <- floor(.025*(N+1)); m[c(k, N+1-k)]
func TestBootstrapOfAllSubsetsIsThatOfR(t *testing.T) {
	nearInterval(t, "interval", Bootstrap{}.Difference(eight()), Interval{-0.633333333333, 2.1}, 1e-9)
}

// With more clusters than draws, the quantiles are near the quantiles of all subsets.
func TestBootstrapDrawsLikeAllSubsets(t *testing.T) {
	var pairs []Pair
	source := rand.New(rand.NewPCG(5, 5))
	for i := range 300 {
		pairs = append(pairs, Pair{Cluster: strconv.Itoa(i % 14), A: source.Float64(), B: source.Float64() + 0.1})
	}
	all := Bootstrap{Draws: 1 << 14}.Difference(pairs)
	for seed := range uint64(5) {
		drawn := Bootstrap{Seed: seed + 1}.Difference(pairs)
		nearInterval(t, "drawn", drawn, all, 0.1*(all.High-all.Low))
		if again := (Bootstrap{Seed: seed + 1}).Difference(pairs); again != drawn {
			t.Errorf("seed %d gives %v and %v", seed+1, drawn, again)
		}
	}
	if (Bootstrap{Seed: 1}).Difference(pairs) == (Bootstrap{Seed: 2}).Difference(pairs) {
		t.Error("the seed does not matter")
	}
}

// These are the bits from one machine; PCG and the sums give the same on all.
func TestBootstrapIsTheSameEverywhere(t *testing.T) {
	var pairs []Pair
	for i := range 200 {
		pairs = append(pairs, Pair{A: float64(i*7%11) / 8, B: float64(i*5%13) / 8})
	}
	if got, want := (Bootstrap{}).Difference(pairs), (Interval{0.03835227272727273, 0.2075}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestBootstrapByInstanceWhereClustersAreFew(t *testing.T) {
	five, none := eight(), eight()
	for i := range five {
		five[i].Cluster = strconv.Itoa(i % 5)
		none[i].Cluster = ""
	}
	if got, want := (Bootstrap{}).Difference(five), (Bootstrap{}).Difference(none); got != want || !got.Known() {
		t.Errorf("five clusters: %v, by instance %v", got, want)
	}
	if got := (Bootstrap{}).Difference(eight()[:5]); got.Known() {
		t.Errorf("five instances: %v, want unknown", got)
	}
	if got := (Bootstrap{}).MedianDifference(nil); got.Known() {
		t.Errorf("no instances: %v, want unknown", got)
	}
	bad := append(eight(), Pair{Cluster: "a", A: math.NaN()})
	if (Bootstrap{}).Difference(bad).Known() {
		t.Error("a value is NaN, the result is not")
	}
	for _, level := range []float64{-1, 1, 2, math.NaN()} {
		if b := (Bootstrap{Level: level}); b.Difference(eight()).Known() || b.MedianDifference(eight()).Known() {
			t.Errorf("level %v gives a result", level)
		}
	}
}

func TestMedianDifference(t *testing.T) {
	var pairs []Pair
	for i := range 100 {
		pairs = append(pairs, Pair{Cluster: strconv.Itoa(i % 10), A: 5, B: 5 + float64(i)})
	}
	pairs[99].B = 1e9
	in, mean := Bootstrap{}.MedianDifference(pairs), Bootstrap{}.Difference(pairs)
	if !in.Contains(49.5) || in.Low < 45 || in.High > 54 {
		t.Errorf("the median's interval is %v, want near 49.5", in)
	}
	if mean.High < 1e6 {
		t.Errorf("the mean's interval %v does not see the outlier", mean)
	}
}

// Values with sums that overflow must not loop forever, whatever the result.
func TestBootstrapOfHugeValuesEnds(t *testing.T) {
	huge := eight()
	for i := range huge {
		huge[i].B = math.MaxFloat64 / 2 * float64(i%3-1)
	}
	if in := (Bootstrap{}).Difference(huge); in.Low > in.High {
		t.Errorf("got %v", in)
	}
	Bootstrap{}.MedianDifference(huge)
}
