package stats

import "math"

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
