// Package compare holds two or more entries against each other, instance by instance. Two
// rates say little. On the same instances, those that only one of the entries resolves show
// whether one is better, or that this number of instances cannot show it.
//
// Its functions are pure. A difference is always B minus A, where A comes first, and the same
// entries, options and seed give the same figures.
//
// # What is compared
//
// An instance without a score on one side is left out of both, and counted by reason: an
// infrastructure failure is nobody's, and a quarantined instance no measure. With several
// attempts, an entry's result on an instance is the mean of the attempts that have a score,
// between 0 and 1: the unit is the instance, so that more attempts do not pretend to be more
// instances. Both, OnlyA, OnlyB and Neither are then sums of fractions: what one attempt of
// each side, drawn by chance, would give on average. HigherA and HigherB count the instances on
// which one side's mean is higher, which with single attempts are OnlyA and OnlyB.
//
// One test of package stats gives the interval of a difference, its p value, the verdict and
// the power. It resamples repositories. With more than two entries, the p values of all their
// pairs are corrected by Holm's method, and the corrected ones decide; intervals stay as they
// are.
//
// A gate does not pass while most instances of an entry have no score: what is left may be
// the easy ones.
package compare
