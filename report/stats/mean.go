package stats

import (
	"math"
	"slices"
)

// Mean returns the mean of values, or nil if there are none or their sum is not finite.
func Mean(values []float64) *float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	mean := sum / float64(len(values))
	if math.IsNaN(mean) || math.IsInf(mean, 0) {
		return nil
	}
	return &mean
}

// ClusteredMean returns the mean of values and its standard error if the values of a cluster, such
// as the instances of a repository, vary together: the sum of squares of the clusters' deviations,
// with the factor G/(G-1) for G clusters. A value with an empty cluster is a cluster of its own.
// Both results are NaN without values or if the lengths differ; the error is NaN with one cluster.
func ClusteredMean(values []float64, clusters []string) (mean, se float64) {
	c, ok := clustered(values, clusters)
	if !ok {
		return math.NaN(), math.NaN()
	}
	return c.mean, c.error()
}

// sample is a mean over clusters.
type sample struct {
	mean       float64
	deviations []float64 // by cluster: the sum of values minus the mean
	sizes      []float64
	n          float64
}

func clustered(values []float64, clusters []string) (sample, bool) {
	if len(values) == 0 || len(values) != len(clusters) {
		return sample{}, false
	}
	pairs := make([]Pair, len(values))
	for i, v := range values {
		pairs[i] = Pair{Cluster: clusters[i], B: v}
	}
	g := byCluster(pairs)
	s := sample{deviations: make([]float64, g.clusters), sizes: make([]float64, g.clusters), n: float64(len(values))}
	for _, v := range values {
		s.mean += v / s.n
	}
	for i, v := range values {
		s.deviations[g.cluster[i]] += v - s.mean
		s.sizes[g.cluster[i]]++
	}
	return s, true
}

func (s sample) error() float64 {
	g, sum := float64(len(s.sizes)), 0.0
	if g < 2 {
		return math.NaN()
	}
	for _, d := range s.deviations {
		sum += d * d
	}
	return math.Sqrt(g/(g-1)*sum) / s.n
}

// correctedError divides the square of each cluster's deviation by the share that remains after the
// cluster's own effect on the mean (CR2 of Bell and McCaffrey, 2002).
func (s sample) correctedError() float64 {
	sum := 0.0
	for g, d := range s.deviations {
		sum += d * d / (1 - s.sizes[g]/s.n)
	}
	return math.Sqrt(sum) / s.n
}

// PassAtK returns the unbiased estimate, from c successes in n attempts, of the probability that at
// least one of k attempts succeeds: 1 - C(n-c,k)/C(n,k) (Chen et al. 2021, "Evaluating large
// language models trained on code"). It is NaN if k > n or k < 1.
func PassAtK(n, c, k int) float64 {
	return 1 - PassHatK(n, n-c, k)
}

// PassHatK returns the unbiased estimate, from c successes in n attempts, of the probability that
// all of k attempts succeed: C(c,k)/C(n,k) (Yao et al. 2024, "tau-bench"). It is NaN if k > n or k
// < 1.
func PassHatK(n, c, k int) float64 {
	if k < 1 || k > n || c < 0 || c > n {
		return math.NaN()
	}
	product := 1.0
	for i := range k {
		product *= float64(max(0, c-i)) / float64(n-i)
	}
	return product
}

// Median returns the median of values, which it does not change. It returns false for no values and
// if one is NaN.
func Median(values []float64) (float64, bool) { return Quantile(values, 0.5) }

// Quantile returns the quantile q in 0..1 of values, which it does not change: linear between the
// two nearest values (type 7 of R and numpy). It returns false for no values, if one is NaN, and
// for a q outside of 0..1.
func Quantile(values []float64, q float64) (float64, bool) {
	if len(values) == 0 || !(0 <= q && q <= 1) || slices.ContainsFunc(values, math.IsNaN) {
		return 0, false
	}
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	below := int(at)
	if below == len(sorted)-1 {
		return sorted[below], true
	}
	part := at - float64(below)
	return (1-part)*sorted[below] + part*sorted[below+1], true
}

// middle returns the median of sorted values, or NaN for none.
func middle(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
