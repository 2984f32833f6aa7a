// Package solver makes one attempt at one instance: it opens a sandbox, runs
// the agent in it with a model, journals every event, and turns what the
// agent submitted into a result. It is the place where dataset, agent, llm
// and results meet; the container comes in through [Sandboxes].
//
// It promises that the sandbox and the journal are closed before Solve
// returns, whatever happened; that a reply and the start of an action are in
// the journal, synced, before the action runs and that its output is before the
// next call is made; and that the submission's bytes reach the result unchanged.
//
// An attempt that was stopped is gone on with behind its last journalled step,
// by the rules of package results. What it spent before counts for its limits:
// calls, cost, and the time in which it worked. What the image's start-up
// command did is done again in a fresh container, and not in one taken over.
//
// An attempt that ends without a submission leaves the work tree's diff, see
// [WorktreeDiff], unless it is only stopped and goes on later. It is against the
// commit that the agent began at, so that what the agent committed is in it.
package solver
