// Package selection compares the patches of several attempts at one instance, for best of n. It is pure:
// package run/selecting reads the attempts, and asks a program.
//
// # Candidates
//
// A candidate is the patch that one attempt predicts. Patches that are [Same] are one choice,
// represented by the first attempt that made it. An empty patch is chosen only if all are empty.
//
// # The majority
//
// [Groups] has the different patches, and the one that most attempts made first. Between equal numbers the
// lower attempt number decides: the same candidates always give the same order.
package selection
