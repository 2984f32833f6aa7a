// Batch runs an LLM coding agent over SWE-bench-style datasets.
//
//	batch run --subset verified --split test -m openai/gpt-5 -w 8 -o runs/gpt-5
//
// It starts one Docker container per instance, lets the agent work in it within
// step and cost limits, and writes trajectories, patches and preds.json. The
// SWE-bench harness and sb-cli read preds.json unchanged, and batch grade decides which
// predictions resolve their instances. The same command again continues an interrupted run.
//
// batch --help lists the commands, batch help COMMAND describes one and its flags, and batch help
// environment, events, exit-codes and run-directory describe the variables that batch reads, the
// lines of --json, the exit codes and the files of a run.
//
// # Images and commits
//
// Before the first model call, a test command runs in the way in which the agent's commands will.
// If the shell prints something before the command's output (a locale that is not installed, a
// start file that prints), that text is removed from every output. If the shell also prints later
// or something else each time (set -x, LD_PRELOAD of a missing file), no submission could be
// recognized: that is an instance fault. BASH_ENV is left out if the image's user may not read the
// file.
//
// After run.env_startup_command, and before the first model call, the repository
// around the working directory must be at the row's base_commit. HEAD is that commit, or
// one commit on top of it that changes no file, or only files that the setup of an
// environment changes (setup.py, tox.ini, package.json and the like)
// and none that the gold patch changes. Those files are
// listed in agent.log, in the journal and in the trajectory's info, as image_commit.
// Anything else is an instance fault, unless --allow-commit-mismatch is given: another
// commit, a commit that the image does not have, an image without git or without a
// repository. Rows without base_commit are not checked. Uncommitted changes in the image
// do not count; agent.log mentions them. Then the history after HEAD is removed, unless
// --keep-git-history is given.
//
// The commit of an image is read once for all its containers, and remembered. The removal runs in
// parallel with the first model call; the first command waits for it. Its outcome is kept for later
// runs, by image, directory, base_commit and script. If there was nothing to remove, the next run
// does not search. Otherwise one bit for each object says whether it stays, and the next run copies
// those objects without reading the history, which halves the work. The outcomes of an engine take
// at most 64 MB of the state directory (~/.local/state/batch); the least recently used ones go
// first, and batch clean removes them.
//
// While a processor is idle, the histories of the next images (--prefetch) are scrubbed ahead, in a
// container that yields to all others. Only the outcome is kept. This needs an engine on this
// machine.
//
// If other instances of the run need the same history, it is scrubbed once, in a container of
// its own, unless that is known to take less than half a second. The objects that stay are
// then in a volume of the engine, which the containers have read-only at /dev/batch-history
// and borrow from (objects/info/alternates). These volumes are removed when no instance of the
// run needs them any more, or by the next run after a crash. Nothing is remembered or shared
// with run.env_startup_command, with --user in environment.run_args or with GIT_DIR.
//
// # Output
//
// Text from outside (ids, errors, a model's words) cannot move the cursor or set
// a color: control characters, and characters that change the direction of text, are shown as
// escapes such as \u001b. JSON contains the same text in JSON's own escapes.
//
// # Outcomes
//
// batch help statuses lists how an instance ends, and which of these outcomes are results.
//
// If something else stops a container, or its engine crashes, batch replaces the container
// and resumes the attempt. With --disk (environment.disk), only the agent with files beyond
// the limit stops. Either writing fails, or its processes are killed and it is asked to free
// space; if it does not, the outcome is EnvironmentDestroyed. batch doctor says which of
// the two the engine does. --retry KIND=N sets which outcomes are tried again within
// a run; batch retry does the same later. If an agent ends without a submission, its
// working-tree diff is kept as INSTANCE.salvaged.patch; --salvage uses it as the prediction.
//
// # Grading
//
// batch grade, and batch run --grade, apply each prediction in a fresh container of its
// instance's image, put the test files back to the base commit, and run the row's eval script
// within the run's limits, with a network if the script installs something. With --network none,
// or if no package index answers, installs fail at once, and the verdict says so.
//
// batch help statuses lists the verdicts. A row without a script or parser is ungradeable, and so is
// a log that is cut, or an image that lacks the program that runs the tests, also with the gold patch.
// Rates count only predictions with a verdict, and tables show how many those are. The final
// report (MODEL.RUN.json) blames as the table does: only resolved and unresolved predictions are
// in completed_ids, only the table's infrastructure failures in infra_failure_ids, and what is
// in no rate also in no_verdict_ids, which the harness does not have: an empty patch that another
// tool's infrastructure failure left is in empty_patch_ids, as the harness counts it, and there. If expected
// tests are missing in a log that says why ("Killed", "No space left on device", an omitted
// part), the verdict is in doubt: the table says so, and the report has the reason in doubts. The
// output of a test cannot end the log early or change the exit code. If a resolved prediction
// changed files that decide what tests report (conftest.py, plugins, setup.cfg, compiled code, what
// the test command and its scripts run and import first; what it changed is read from the working
// tree), or made the script write such files before the tests, the tests run again without these
// changes. Files that the gold patch changes too are then as the gold patch makes them. If
// FAIL_TO_PASS fails, both runs are repeated, since tests fail by chance. A prediction that needs a
// conftest.py or a runner of its own is unresolved, one that needs a project's file stays resolved
// and is named suspicious. One whose tests do not end without the files stays resolved, and its
// grade has a note.
//
// A verdict depends on the expected tests, script, parser, rules, image, network and limits. When
// one of them has changed, the next batch grade judges again: from the existing log, unless the
// change affects the log itself. The table and the final report always cover the whole directory,
// whichever instances a command named. batch run --grade refuses rows that cannot be graded before
// their agents cost anything.
//
// # Continuing a run
//
// batch resume continues a run after all exit codes but 2 and 4; also after kill -9. Then
// the containers still run, and so do their commands. The resumed run reattaches to them,
// waits for the command and reads its output; no command runs twice. If a container is
// gone, the recorded commands run in a new one first.
//
// # Signals
//
// After the first interrupt (Ctrl-C), no instance starts, and the running ones finish.
// The second, or SIGTERM or SIGHUP, stops the running ones, saves their work and removes
// their containers. The third exits at once. In the pod of a Job whose agents also run in pods, SIGTERM
// ends batch run at once and leaves them to the Job's next pod: see batch help kubernetes.
package main
