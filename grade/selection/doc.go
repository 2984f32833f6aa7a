// Package selection chooses one of several patches for the same instance: best of n. It is pure:
// package run/selecting runs the tests and asks the model.
//
// # Candidates
//
// A candidate is the patch that one attempt predicts. Patches that are [Same] are one choice,
// represented by the first attempt that made it. An empty patch is chosen only if all are empty.
//
// # Selectors
//
//   - [Majority]: the patch that most attempts made.
//   - [ByTests]: the code of each candidate runs against the tests that each candidate adds or
//     changes. The patch with the most passed tests wins.
//   - a judge: [Ballot] says in which order a model sees the candidates, and [Answer] reads
//     its reply.
//
// No selector sees the tests by which instances are graded, or the gold patch.
//
// The majority decides between equal scores, and the lower attempt number between equal majorities:
// the same candidates always give the same choice.
package selection
