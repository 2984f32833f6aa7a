// Package solver makes one attempt at one instance: it opens a sandbox, runs
// the agent in it with a model, journals every event, and turns what the
// agent submitted into a result. It is the place where dataset, agent, llm
// and results meet; the container comes in through [Sandboxes].
//
// It promises that the sandbox and the journal are closed before Solve
// returns, whatever happened; that a reply is in the journal, synced, before
// its actions run and that its outputs are before the next call is made; and
// that the submission's bytes reach the result unchanged.
package solver
