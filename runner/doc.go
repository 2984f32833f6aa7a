// Package runner says who runs when: a pool of workers, admission, retry of
// what was not the agent's fault, the run's budget, and draining.
//
// It knows no container and no model, only a [Solver] that makes one attempt
// at one instance and a [Store] that keeps the outcome. It promises that every
// admitted instance ends in the store with an outcome, that a panic or a fault
// in one instance touches no other, that a fault of the host or an empty
// budget stops admission and lets the running instances end, and that no
// goroutine outlives [Run].
package runner
