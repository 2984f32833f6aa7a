// Package logparse turns the log of a test run into statuses: test name -> PASSED, FAILED,
// SKIPPED, ERROR or XFAIL.
//
// It has the 57 parsers that the official SWE-bench harness registers (SWE-bench/SWE-bench release
// 5.0.2, swebench/harness/log_parsers) under the same names, and promises the same statuses for the
// same text, odd text included: Python's definitions of white space, digits and words, later lines
// replacing earlier ones, names kept untrimmed if the reference keeps them. The only exception is
// that a few details of malformed XML reports are accepted. If a parser was different in release
// 4.1.0, [V4] selects that version.
//
// There are also parsers of datasets that grade by other means: [RebenchV2], and the names "pytest"
// of SWE-bench-Live and "r2e_gym" of R2E-Gym.
//
// A log is text that was decoded as in the harness: invalid UTF-8 replaced by U+FFFD, "\r\n" and
// "\r" replaced by "\n". The caller does this, and cuts out the part between the markers; here
// every "\r" is a character like any other.
//
// All parsers take time and memory linear in the log's length, whatever its content, and never
// panic: the input is the output of a model's patch. They may be used concurrently.
//
// Its API is not promised to other programs: see package batch.
package logparse
