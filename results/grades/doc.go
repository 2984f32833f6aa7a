// Package grades stores the results of grading in a run directory: the grades in the
// append-only file grades.jsonl, and the quarantined instances in quarantine.txt.
//
// # grades.jsonl
//
// One record per line, in the form of the journal (batch help journal), of type "grade". The
// members attempt, start, calls and cost of that form are 0; data is the grade. Each execution
// of the tests has a record; if it failed for infrastructure reasons, each try has one.
// Readers skip records of other types. The last grade of a prediction counts. But a grade
// with a verdict is kept if a later grading of the same eval script and image gives none, unless
// that one withdraws it. With --repeat, the most frequent verdict counts; resolved counts only if
// every execution gave it.
//
// A reported grade is durable. A crash leaves at most an incomplete last line, which the
// next grading cuts off and reports. A damaged line before whole ones is broken storage:
// every reader reports it with its number, and nothing is changed.
//
// # A grade
//
// Empty members are absent. Digests are SHA-256, in hexadecimal.
//
// What was graded:
//
//	instance_id
//	attempt             the attempt that made the prediction; 0: another tool
//	model_name_or_path  as preds.json has it
//	patch_sha256        digest of model_patch in preds.json; "" for an empty
//	                    one
//
// What it was tested with. After an early failure, these may be unknown:
//
//	script_sha256       digest of the eval script
//	image, image_id     as requested, and sha256:...
//	image_digest        in its registry; absent for an image of this machine
//	engine              the address of the engine that had the last container;
//	                    absent if it was not named, or without a container
//	family              of datasets: see batch help custom-graders
//	parser              the parser that read the log
//	rules               v5 or v4: by which rules of the SWE-bench harness
//	judged_by           everything else that the verdict depends on: see below
//
// What was found:
//
//	verdict             resolved, unresolved, no_apply, empty_patch, timed_out,
//	                    no_reward, infrastructure or ungradeable
//	why                 for a person, if it is not resolved
//	error, blame        of an infrastructure failure: the error, and who is to
//	                    blame: usage, instance, transient, host, bug, expired
//	                    or unknown
//	withdraws           true: something that the earlier verdict depends on
//	                    has changed. Grading writes this before it judges
//	                    again, with the verdict infrastructure
//	suspicious          reasons why a resolved prediction may be wrong
//	doubt               why a verdict may be wrong: the log lost tests
//	notes               how this grading differed from an ordinary one
//	failed_install      the line of the log with which the first install of the
//	                    eval script failed: the image's old build was tested
//	rewards             {name: number}: what the verifier of a task folder gave;
//	                    1 by the name reward, or by the only one, is resolved
//	FAIL_TO_PASS, PASS_TO_PASS
//	                    {passed, failed}: names of the expected tests, in the
//	                    dataset's order
//	exit_code           of the test command, if it is known
//	applied             the command that applied the patch
//	repeat              with --repeat: number of the execution, from 1
//	cached              true: judged from the log of an earlier execution
//	started             when it began
//	seconds             {queue, pull, start, apply, tests, judge, close,
//	                    total}: queue is the wait for a worker, before total;
//	                    pull is for the image, start for the container, apply
//	                    for the patch, tests and judge (the log) for the
//	                    verdict; close lasts until the removal of the container
//	                    begins. The rest of total is other work
//	log                 folder of the logs, relative to the run directory
//
// verdicts and unstable (for repeated executions: the verdict of each, and whether they
// differ) are derived when the file is read.
//
// # judged_by
//
// A prediction is judged again when one of these has changed. Each is a digest, or a short
// value itself:
//
//	tests    the expected tests, in order, and how they are checked
//	parser   the bytes of the program that reads the log; absent: batch reads
//	         it
//	setup    the commands before the patch is applied
//	files    the files that are put back, to which commit, and what the tests
//	         need beside the script
//	gold     the patch that resolves the instance. When tests run again
//	         without files of the prediction, files that the gold patch
//	         changes too have its version
//	limits   of time and of the container, with its user and settings
//	network  of the tests
//	rules    number of batch's own rules about what decides a verdict
//
// # Files of the harness
//
// Its tools and batch export read these:
//
//	logs/run_evaluation/RUN/MODEL/INSTANCE/
//	  patch.diff, eval.sh, test_output.txt  what was applied, run and printed
//	  report.json, run_instance.log         the verdict, and what was done
//	MODEL.RUN.json                          all ids of the directory by verdict,
//	                                        schema_version 2. If the results
//	                                        have several models, or several
//	                                        settings or tools:
//	                                        several-models.RUN.json, or
//	                                        MODEL+mixed-settings.RUN.json
//
// # quarantine.txt
//
// Instance ids, one per line; the rest of a line after # is a comment. Grading still runs
// for them, but they are left out of all rates.
package grades
