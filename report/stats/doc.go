// Package stats has the estimators of a comparison: intervals of rates and of paired
// differences, tests, corrections for many comparisons, power, pass@k.
//
// Its functions are pure, give the same result on every machine and never panic on numbers. A
// result that cannot be computed from the given numbers, such as a rate of six successes in five
// instances, is NaN; [Interval.Known] reports it. Without any data, the interval of a rate is the
// whole range.
//
// A difference is always B minus A, where A is the baseline. Rates are in 0..1.
//
// # Rates
//
// The unit is the instance. With several attempts, the value of an instance is the mean of its
// attempts with a score. A rate is the mean over instances.
//
// Instances of a repository vary together, so the interval of a rate comes from resampling
// repositories ([Bootstrap.Rate]). A draw takes each repository, with all of its instances, or
// leaves it out, both with probability 1/2; its complement counts too. If --draws (10,000) is
// enough for all subsets, up to 13 repositories, each subset is taken once; otherwise the draws
// start from --seed. The interval is between quantiles of the means of all draws. By Hartigan's
// theorem ("Using subsample values as typical values", JASA 64, 1969) it has the requested level,
// for any number and sizes of repositories, if their sums vary independently and symmetrically. The
// usual bootstrap needs many repositories of similar size.
//
// Each draw gives four means: of its instances alone, with half an instance of value 0 added, with
// half an instance of value 1 added, and with both (after Agresti and Min, "Simple improved
// confidence intervals for comparing matched proportions", Statistics in Medicine 24, 2005). Where
// all instances have the same result, the interval is at least as wide as the exact interval for
// that number of independent results (Clopper and Pearson, Biometrika 26, 1934). The interval of a
// rate with failures never reaches 1, and of one with successes never 0: such an end is replaced by
// that of the exact interval for N^2 / (sum of n^2) results, where n are the sizes of the
// repositories and N is their sum.
//
// Fewer than 6 repositories cannot give a level of 0.95. Then instances are resampled instead, each
// as a repository of its own, and tables say "bootstrap by instance": the result describes these
// repositories and does not generalize to others like them.
//
// # Comparisons
//
// Sides are paired by instance, and the same test resamples the differences
// ([Bootstrap.RateDifference]). Half an instance that A won and half an instance that B won are added
// (with several attempts, half of the smallest difference). Its p value is two-sided, for no
// difference: count the means below 0 and the means above 0, and take twice the share of the smaller
// group. The interval excludes 0 if, and only if, p is at most 1 - level. With G repositories, no p
// value is below 2/2^G. Sides are called tied if p is not low enough.
//
// With more than two entries, the p values of all pairs are corrected by Holm's step-down method
// (Scandinavian Journal of Statistics 6, 1979): the lowest of m is multiplied by m, the next by
// m-1, and so on, and none becomes lower than the one before it. The corrected values decide.
// Intervals are not corrected.
//
// Few repositories have no p value that is low enough to be multiplied by m: six of them and three
// entries, say. Then the step-down method of Westfall and Young ("Resampling-based multiple
// testing", 1993) decides ([Bootstrap.WestfallYoung]). In each draw, the repositories that are left
// out change the sign of their differences. The p value of the largest difference is the share of
// draws in which the largest difference of all pairs is as large; the p value of the next one
// leaves out the first pair, and so on. The lowest p value stays 2/2^G.
//
// Cost, steps and time have the difference of means, the relative change (that difference divided
// by A's mean), and the median of the differences, each with its interval from the same draws,
// without added instances
// ([Bootstrap.Difference], [Bootstrap.MedianDifference]). The interval of the relative change
// has every r for which the interval of B - A(1+r) has 0 ([Bootstrap.RelativeDifference]).
//
// # Power
//
// A comparison's own pairs show what it could have found ([Plan]): the sizes of the repositories,
// on how many instances the sides differ and by how much, and how the difference varies between
// repositories (with the correction CR2 of Bell and McCaffrey, 2002). For a difference and a number
// of instances, 300 comparisons are drawn and tested; the power is the share of them that shows the
// difference. By instance, it is Connor's formula (Biometrics 43, 1987). For a power of 0.8, tables
// have the smallest difference that as many instances show, and the number of instances of these
// repositories that would show the observed difference.
//
// # Several attempts
//
// An instance with c successes in n attempts has, for k up to n, the unbiased estimates
//
//	pass@k  1 - C(n-c,k)/C(n,k)  at least one of k succeeds
//	pass^k  C(c,k)/C(n,k)        all of k succeed
//
// (Chen et al., "Evaluating large language models trained on code", 2021, and Yao et al.,
// "tau-bench", 2024). The table has their means over the instances with k attempts or more. The
// standard error is clustered by repository: for G repositories and N instances, with d the sum of
// a repository's values minus the mean, it is sqrt(G/(G-1) * sum of d^2) / N ([ClusteredMean]).
// Intervals are computed as for rates.
//
// # What the simulations show
//
// The tests simulate benchmarks of 30 to 500 instances, from one repository, from the first 6 to 12
// of SWE-bench Verified and from 30 of equal size, with one attempt and with three, with
// differences up to 0.5 that are the same in all repositories or vary. The intervals of rates and
// of their differences cover the truth in 93 to 97 % at 100 or more instances of one repository and
// of twelve or more. Six to eight repositories, and fewer instances, have few different sums: the
// intervals are then wider than necessary, and cover the truth in 92 to 100 %. Equal models are
// called different in at most 6 % of the comparisons, and any of five equal ones, after the
// correction, in at most 6 % of the sets. On six repositories, three entries that resolve nothing,
// half and all of the instances are told apart. At the difference that [Plan.Detectable] gives for
// a power of 0.8, a comparison at the same instances shows it in 70 to 90 % from 100 instances on,
// and in 65 to 93 % at 30. This prints the tables:
//
//	BATCH_SIMULATIONS=all go test -v -run Simulated -timeout 2h ./report/stats
//
// Its API is not promised to other programs: see package batch.
package stats
