package stats

import (
	"math"
	"testing"
)

// The expected values are from Python 3.11: 1 - comb(n-c, k) / comb(n, k) and comb(c, k) / comb(n,
// k).
func TestPassAtKAndPassHatK(t *testing.T) {
	for _, c := range []struct {
		n, c, k int
		at, hat float64
	}{
		{10, 3, 1, 0.3, 0.3},
		{10, 3, 5, 0.9166666666666666, 0},
		{200, 7, 100, 0.9929911172418123, 0},
		{5, 5, 5, 1, 1},
		{5, 2, 4, 1, 0},
		{5, 0, 3, 0, 0},
		{4, 3, 2, 1, 0.5},
	} {
		near(t, "pass@k", PassAtK(c.n, c.c, c.k), c.at, 1e-12)
		near(t, "pass^k", PassHatK(c.n, c.c, c.k), c.hat, 1e-12)
	}
	near(t, "pass@k of many", PassAtK(1_000_000, 10, 1), 1e-5, 1e-12)
	for _, c := range [][3]int{{2, 1, 3}, {2, 1, 0}, {2, 3, 1}, {2, -1, 1}, {0, 0, 1}, {-1, 0, 1}} {
		if !math.IsNaN(PassAtK(c[0], c[1], c[2])) || !math.IsNaN(PassHatK(c[0], c[1], c[2])) {
			t.Errorf("%v has an estimate", c)
		}
	}
}

func TestClusteredMean(t *testing.T) {
	values := []float64{1, 0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0}
	clusters := []string{"a", "a", "a", "a", "a", "a", "b", "b", "b", "c", "c", "d"}
	mean, se := ClusteredMean(values, clusters)
	// statsmodels 0.13.5: OLS(y, np.ones(12)).fit(cov_type="cluster", cov_kwds={"groups": g})
	near(t, "mean", mean, 0.58333333, 1e-8)
	near(t, "standard error", se, 0.13078192, 1e-8)
	for name, clusters := range map[string][]string{"one cluster": {"a", "a"}, "too few names": {"a"}} {
		if _, se := ClusteredMean([]float64{1, 0}, clusters); !math.IsNaN(se) {
			t.Errorf("%s: standard error %v", name, se)
		}
	}
	if mean, _ := ClusteredMean(nil, nil); !math.IsNaN(mean) {
		t.Errorf("the mean of nothing is %v", mean)
	}
}

// The expected values are from numpy 1.24: np.quantile([3, 1, 4, 1, 5, 9, 2, 6], [.1, .25, .5, .9,
// 1]).
func TestQuantileIsThatOfNumpy(t *testing.T) {
	values := []float64{3, 1, 4, 1, 5, 9, 2, 6}
	for q, want := range map[float64]float64{0: 1, 0.1: 1, 0.25: 1.75, 0.5: 3.5, 0.9: 6.9, 1: 9} {
		got, ok := Quantile(values, q)
		if near(t, "quantile", got, want, 1e-12); !ok {
			t.Errorf("no quantile %v", q)
		}
	}
	if m, ok := Median(values); !ok || m != 3.5 || values[0] != 3 {
		t.Errorf("median %v %v of %v", m, ok, values)
	}
	for _, c := range []struct {
		values []float64
		q      float64
	}{{nil, 0.5}, {values, -0.1}, {values, 1.1}, {values, math.NaN()}, {[]float64{1, math.NaN()}, 0.5}} {
		if v, ok := Quantile(c.values, c.q); ok {
			t.Errorf("Quantile(%v, %v) is %v", c.values, c.q, v)
		}
	}
}
