// Package grade decides from the log of a test run whether a prediction resolves its
// instance.
//
// The rules equal the rules of the official SWE-bench harness (SWE-bench/SWE-bench release 5.0.2,
// swebench/harness/grading.py and infra_failure.py; release 4.1.0 with [logparse.V4]): the same log
// gives the same statuses, lists and resolution. Only a log of this module's own evaluation is read
// differently: its markers have a nonce and the exit code comes from elsewhere, so that the tests'
// output can neither end the graded part nor set the exit code.
//
// Grading is a pure function of the log and the row. It takes time linear in the log's
// length, and may be called concurrently.
//
// Its API is not promised to other programs: see package batch.
package grade
