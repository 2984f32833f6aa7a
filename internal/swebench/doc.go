// Package swebench reads and writes the files of the SWE-bench harness and the tools around it, so
// that they and batch can read each other's files: predictions, the tree of logs with a report.json
// for each instance, and the final report of a run.
//
// Written files equal, byte for byte, what the harness (SWE-bench/SWE-bench release 5.0.2, or 4.1.0
// where V4 says so) writes for the same verdicts: the same keys in the same order, in the form of
// Python's json.dumps with indent 4. Files are replaced atomically.
//
// Predictions are read in every form that tools write, and returned unchanged. A file that cannot
// be read is refused with a *fault.Error that names the file, and the line, entry or member.
//
// Its API is not promised to other programs: see package batch.
package swebench
