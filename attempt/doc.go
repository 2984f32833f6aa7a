// Package attempt makes one attempt at one instance: it opens a sandbox, runs
// the agent in it with a model, journals every event, and turns what the
// agent submitted into a result. It connects dataset, agent, llm and results;
// the container comes from [Sandboxes].
//
// Guarantees:
//   - The sandbox and the journal are closed before Do returns, whatever happened.
//   - A reply and the start of an action are in the journal, synced, before the
//     action runs. Its output is in the journal before the next call is made.
//   - The bytes of the submission reach the result unchanged.
//
// An interrupted attempt is resumed after its last journalled step, by the rules of
// package results, and only with the settings it was made with. An action that was
// running is requested again by its id, see [Sandbox], so that it runs only once. Calls,
// cost and working time from before count towards the attempt's limits. The image's
// start-up command runs again in a new container, but not in one that is reattached.
// After a failure the resumed attempt gets the same sandbox if it still runs commands;
// see runner.Attempt.
//
// The scrub of the image's git history runs in parallel with the first model call.
// Config limits the number of scrubs at the same time. Until the scrub has ended, no
// action is recorded or run and the journal does not name the sandbox, so a sandbox
// with an unfinished scrub is never resumed.
//
// Each second of an attempt is in one phase of its record, see results.Phases.
//
// Before the first model call, the image must be at the row's base_commit, or at
// a commit on top of it that only sets up the environment, see Config. A reattached
// sandbox is not checked again.
//
// Also before it, and before the sandbox is opened, the images of the task are there, or the attempt
// ends. The journal has them from then on: a resume needs them nowhere else.
//
// If the agent makes its sandbox unusable, the attempt ends with a result. If that
// happens during a replay, of actions that did not do so before, the attempt has diverged.
//
// An attempt that ends without a submission leaves the working tree's diff, see
// boxgit.WorktreeDiff, unless it was only interrupted and will be resumed. The diff is
// against the commit that the agent began at, so it includes what the agent committed.
package attempt
