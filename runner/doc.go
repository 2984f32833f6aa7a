// Package runner says who runs when: a pool of workers, admission, retries by
// how an attempt ended, the run's budget, and draining.
//
// It knows no container and no model, only a [Solver] that makes one attempt
// at one instance and a [Store] that keeps the outcome. It promises that every
// admitted instance ends in the store with an outcome, that a panic or a fault
// in one instance touches no other, that a fault that all instances share (the
// host's, or one of the caller's input) or an empty budget stops admission and
// lets the running instances end, and that no goroutine outlives [Run]. A fault
// that all share is never tried again in the same run. An instance that meets
// the empty budget is pending, not failed.
package runner
