// Package attempts evaluates several attempts at the same instances: pass@k, pass^k, the mean,
// which instances are flaky, and the gain of selecting one attempt, each with its cost. Its
// functions are pure.
//
// An attempt counts if it has a verdict. For an instance with n attempts that count and c that are
// resolved, package stats has unbiased estimates with the instance's own n. Instances with fewer
// than k such attempts are left out of k, and counted separately. The estimate for all instances is
// their mean. Its standard error is clustered by repository.
//
// The interval of an estimate is clustered by repository too, by [stats.Bootstrap.Rate]. With fewer
// than six repositories it describes only the instances of these repositories, and says nothing
// about other repositories.
//
// Its API is not promised to other programs: see package batch.
package attempts
