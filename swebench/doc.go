// Package swebench reads and writes the files of the SWE-bench harness and of the tools around
// it, so that these tools read what batch made, and batch what they made: predictions, the tree
// of logs with the report.json of each instance, and the final report of a run.
//
// What is written is equal byte for byte to what the harness (SWE-bench/SWE-bench release
// 5.0.2, or 4.1.0 where V4 says so) writes for the same verdicts: the same keys in the same
// order, in the form of Python's json.dumps with indent 4. Files are replaced atomically.
//
// Predictions are read in every form that tools write them, and returned as the file has them.
// A file that cannot be read is refused with a *fault.Error that names the file, and the line,
// entry or member.
package swebench
