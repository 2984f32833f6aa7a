// Package solver makes one attempt at one instance: it opens a sandbox, runs
// the agent in it with a model, journals every event, and turns what the
// agent submitted into a result. It is the place where dataset, agent, llm
// and results meet; the container comes in through [Sandboxes].
//
// It promises that the sandbox and the journal are closed before Do
// returns, whatever happened; that a reply and the start of an action are in
// the journal, synced, before the action runs and that its output is before the
// next call is made; and that the submission's bytes reach the result unchanged.
//
// An attempt that was interrupted is resumed behind its last journalled step, by the
// rules of package results, and only under its own settings. An action that was under
// way is asked for by its id, see [Sandbox], so that it runs once. What it spent before
// counts for its limits: calls, cost, and the time in which it worked. What the
// image's start-up command did is done again in a fresh container, and not in one
// taken over. After a failure the resume gets the same sandbox, if that still runs
// commands; see runner.Attempt.
//
// The scrub of the image's git history goes on beside the first call, so many at once as
// Config says. No action is recorded or run before it has ended, nor is its sandbox
// told of in the journal: one that was not scrubbed to the end is never gone on in.
//
// Before a model is asked anything, the image must be at the row's base_commit, or at
// a commit on top of it that only sets up the environment, see Config; in a sandbox
// that is taken over this is not looked at again.
//
// An agent that makes its sandbox unusable ends its attempt with a result; when that
// happens in the replay of actions that did not do so before, the attempt has diverged.
//
// An attempt that ends without a submission leaves the work tree's diff, see
// boxgit.WorktreeDiff, unless it is only stopped and goes on later. It is against the
// commit that the agent began at, so that what the agent committed is in it.
package solver
