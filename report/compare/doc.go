// Package compare compares two or more entries instance by instance. Two rates say little. On the
// same instances, the ones that only one entry resolves show whether one entry is better, or that
// this number of instances cannot show it.
//
// Its functions are pure: the same entries, options and seed give the same figures. A difference is
// always B minus A, where A comes first.
//
// # What is compared
//
// An instance without a score on one side is left out of both rates, and counted by reason: an
// infrastructure failure is not the model's, and a quarantined instance measures nothing. With
// several attempts, an entry's result on an instance is the mean of the attempts that have a score,
// between 0 and 1: the unit is the instance, so that more attempts do not count as more instances.
// Both, OnlyA, OnlyB and Neither are then sums of fractions: the expected counts for one random
// attempt of each side. HigherA and HigherB count the instances on which one side's mean is higher;
// with single attempts they equal OnlyA and OnlyB.
//
// One test of package stats gives the interval of a difference, its p value, the verdict and the
// power. It resamples repositories. With more than two entries, the p values of all their pairs are
// corrected by Holm's method, or that of Westfall and Young if there are too few repositories for
// it, and the corrected ones decide; intervals are not corrected.
//
// A gate cannot pass while most instances of an entry have no score: the remaining ones may be the
// easy ones.
package compare
