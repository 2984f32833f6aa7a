// Package evaluate runs the tests of one instance against one patch, in a fresh container of the
// instance's image, and returns what happened: [Run]. It gives no verdict: package grade derives
// one from the log, and [Decide] says which further runs a verdict needs.
//
// The steps equal the steps of the official SWE-bench harness (SWE-bench/SWE-bench release 5.0.2,
// swebench/harness/run_evaluation.py), so that the same patch gives the same log:
//
//   - The patch is applied by the first of a chain of commands that succeeds, with the
//     working tree made clean between two of them. That takes away what the image itself has
//     changed or added, which [Evidence.Lost] names.
//   - The eval script of the row runs in one bash, with the harness's first lines and with
//     its recording of the test command's exit code.
//   - At the time limit every process of the script is killed, and what was printed before is
//     kept.
//
// These steps differ, because the harness loses or misreads instances without them:
//
//   - A patch does not count as applied if it changed a file in .git, or if patch(1) made a
//     symbolic link that leaves the working tree. Git's hooks and file monitor are switched
//     off, and patch(1) runs no ed script.
//   - The files of the test patch are put back to the base commit before the script runs,
//     even where the base commit lacks them, and Python's caches of them are removed. The
//     harness leaves all of them as the patch made them if one is absent at the base commit.
//   - The markers in the script have a nonce, and the exit code of the test command is that
//     of the script, not only a line in the log. What the tests print cannot forge either.
//   - Bash reads the whole script before the tests run, so that they cannot change the rest.
//   - The script also prints which files were written before the tests, see [Written]. The log
//     does not have these lines.
//   - Output beyond a limit is known to be missing.
//
// A patch can always change the code under test, which runs in the same process as the tests, so
// that they seem to pass. The harness allows that too. [Deciders] lists changed files that are not
// tested but determine the reported results, [WrittenDeciders] those that the script wrote because of
// the patch, and [Doubts] the signs of a forged result. The changes
// of a patch are read from the working tree, before and after: see [Change].
//
// Here, a container is only a [Box].
//
// Its API is not promised to other programs: see package batch.
package evaluate
