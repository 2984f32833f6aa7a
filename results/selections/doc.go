// Package selections is the record of how one of several attempts was chosen for each
// instance: the append-only file selection.jsonl in the directory that has the chosen
// predictions.
//
// # selection.jsonl
//
// One record per line, in the form of package journal, whose members attempt, start, calls
// and cost are 0. The types are
//
//	selection   [Selection]: what was chosen for an instance, and why
//	asked       [Asked]: a judge is about to be asked; durable before the call is made
//	unpaid      [Unpaid]: the call was not charged
//	judged      [Reply]: what a judge replied, and its cost
//	tested      [Tested]: what the code of one attempt passed of the tests of another one
//
// Replies and tests come before the selection that they decide. An instance may have several
// selections: the last one counts. Readers skip other types.
//
// A record is durable when the method that adds it returns nil. A crash leaves at most an
// incomplete last line, which [Open] cuts off.
package selections
