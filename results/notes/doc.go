// Package notes keeps the labels and comments of people on instances, attempts and steps, in
// the append-only file notes.jsonl of a run directory.
//
// # notes.jsonl
//
// `batch note` and the pages of `batch view` write it. It has one record per line, in the form of
// the journal's (batch help journal), with 0 in the members attempt, start, calls and cost. The
// records of type note have in data
//
//	id            lower-case letters and digits, made when it is added
//	instance_id
//	attempt       0: the instance, with all its attempts
//	step          from 1; 0: the attempt or the instance. A step of attempt 0 is
//	              one of a trajectory without a journal, such as another tool's
//	label         a word of at most 40 letters, digits, "-", "_" and "."
//	text          a comment, in UTF-8, at most 10,000 bytes
//	who           the user's name; empty: not known
//	when          time, UTC
//
// A note has a label, a text, or both. A record of type removed has id, who and when: the note
// with this id does not count any more. Readers skip other types. A note changes no score, no rate
// and no resume. batch merge copies the notes that count.
//
// # Writers
//
// Any number of processes may add and remove notes at the same time, also while a run works in the
// directory: they do not take the lock of the run. Each addition holds the lock of the file
// .notes.lock, which the system gives up when the process ends. A note is durable when it has been
// confirmed. A crash leaves at most an incomplete last line: readers skip it, and the next addition
// cuts it off. Reading takes no lock.
//
// The file has the texts as people wrote them. `batch note` hides secrets before it writes, and
// readers hide them again.
package notes
