// Package attempts says what several attempts at the same instances are worth: pass@k,
// pass^k, the mean, which instances are flaky, and what a selection of one attempt gains, each
// with its cost. Its functions are pure.
//
// An attempt counts where it has a verdict. An instance with n attempts that count and c
// that are resolved has the unbiased estimates of package stats with its own n: instances
// with fewer than k are left out of k, and counted. The estimate for all instances is
// their mean, its standard error that of instances clustered by repository.
//
// The interval of an estimate is clustered by repository too, by [stats.Bootstrap.Rate]. With
// fewer than six repositories it is of the instances of these, not of others like them.
package attempts
