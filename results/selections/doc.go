// Package selections records how one of several attempts was chosen for each instance, in
// the append-only file selection.jsonl of the directory with the chosen predictions.
//
// # selection.jsonl
//
// One record per line, in the form of package journal, with 0 in the members attempt,
// start, calls and cost. The type is
//
//	selection   [Selection]: the chosen attempt at an instance, and why
//
// An instance may have several selections: the last one counts. Readers skip other types, such as the
// replies of a judge in directories of earlier versions.
//
// A record is durable when the method that adds it returns nil. A crash leaves at most an
// incomplete last line, which [Open] cuts off.
//
// Its API is not promised to other programs: see package batch.
package selections
