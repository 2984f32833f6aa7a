// Package logparse turns the log of a test run into statuses: test name -> PASSED, FAILED,
// SKIPPED, ERROR or XFAIL.
//
// It has the 57 parsers that the official SWE-bench harness registers (SWE-bench/SWE-bench
// release 5.0.2, swebench/harness/log_parsers) under the same names, and promises the same
// statuses for the same text, odd text included: Python's idea of white space, digits and
// words, later lines replacing earlier ones, names kept untrimmed where the reference keeps
// them. Only a few details that make an XML report not well formed are passed over. Where a
// parser was another one in release 4.1.0, [V4] selects that one.
//
// Beside them are the parsers of datasets that grade by other means: [RebenchV2], and the
// names "pytest" of SWE-bench-Live and "r2e_gym" of R2E-Gym.
//
// A log is text that was decoded as the harness decodes it: UTF-8, bytes that are not
// replaced by U+FFFD, "\r\n" and "\r" replaced by "\n". That, and cutting out the part
// between the markers, is done before; here every "\r" is a character like any other.
//
// All parsers take time and memory linear in the log's length, whatever it says, and never
// panic: what a model's patch prints is input here. They may be used concurrently.
package logparse
