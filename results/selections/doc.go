// Package selections records how one of several attempts was chosen for each instance, in
// the append-only file selection.jsonl of the directory with the chosen predictions.
//
// # selection.jsonl
//
// One record per line, in the form of package journal, with 0 in the members attempt,
// start, calls and cost. The types are
//
//	selection   [Selection]: the chosen attempt at an instance, and why
//	asked       [Asked]: a judge is about to be asked; durable before the call is made
//	unpaid      [Unpaid]: the call was not charged
//	judged      [Reply]: the reply of a judge, and its cost
//	tested      [Tested]: another attempt's tests that the code of an attempt passed
//
// Replies and tests come before the selection that they decide. An instance may have several
// selections: the last one counts. Readers skip other types.
//
// A record is durable when the method that adds it returns nil. A crash leaves at most an
// incomplete last line, which [Open] cuts off.
package selections
