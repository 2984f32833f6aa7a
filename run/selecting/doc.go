// Package selecting chooses one of several attempts at each instance, and makes a run directory
// of the chosen attempts: best of n.
//
// # Candidates
//
// The candidates of an instance are the current predictions in the attempts' run
// directories. An attempt without a result is left out, and is named in the record. An
// instance without any candidate has no selection; the next call looks for candidates again.
//
// Patches that are equal but for git's index lines and the text after a hunk's line numbers are one
// choice, represented by the first attempt that made it. An empty patch is chosen only if all are
// empty. The majority is the choice that most attempts made; between equal numbers the lower attempt
// number decides, so the same candidates always give the same choice.
//
// # The directory
//
// It has preds.json, as `batch grade` makes it of predictions, so that it can be graded,
// compared and exported. It also has selection.jsonl (package results/selections) and for each
// instance the trajectory of the chosen attempt. The trajectory's cost and calls include all
// attempts: the full cost of a best of n. If an attempt has a grade of a
// chosen patch, the grade is copied, because grades belong to patches.
//
// # Continuing
//
// A choice is durable before it is used. Repeating the same call continues it, without asking about an
// instance twice. If candidates or the program have changed since an instance was decided, the call is
// refused.
//
// Its API is not promised to other programs: see package batch.
package selecting
