// Package runner says who runs when: a pool that takes jobs from a source,
// with admission, a width that can be changed while it runs, retries by how an
// attempt ended, a budget, and draining.
//
// It knows neither what a job is nor what comes of it, only a [Source] that hands
// out jobs and a [Worker] that makes attempts at them and saves what came of each.
// It promises that every admitted job ends saved, that a panic or a fault in one
// touches no other, that a fault that all jobs share (the host's, or one of the
// caller's input) or an empty budget stops admission and lets the running jobs
// end, and that no goroutine outlives [Run]. A fault that all share is never tried
// again in the same run. A job that meets the empty budget is pending, not failed.
package runner
