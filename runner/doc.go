// Package runner runs jobs in a pool. The pool takes jobs from a roster, runs a limited
// number of them at the same time, retries them depending on how an attempt ended, keeps a
// budget, and can drain. The number may be changed while it runs.
//
// It knows neither what a job is nor what a result is, only a [Roster] of jobs and a
// [Worker] that makes attempts at them and saves their results. It promises this: The
// result of every admitted job is saved. A panic or a fault in one job affects no other. A
// fault that all jobs share (of the host, or of the caller's input) or a spent budget
// stops admission and lets the running jobs end. No goroutine continues after [Run] has
// returned. A fault that all jobs share is not retried in the same run. If the budget is
// spent, a job is pending, not failed.
//
// Its API is not promised to other programs: see package batch.
package runner
