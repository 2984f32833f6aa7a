// Package results writes the run directory, whose files this page describes. Nothing
// else writes them, except where that is said.
//
// # Files
//
//	<dir>/
//	  preds.json            derived: predictions, in order of completion
//	  preds.json.original-<n>  a preds.json that another tool wrote in another
//	                        form
//	  exit_statuses.yaml    derived: exit status -> instance ids, the whole
//	                        directory
//	  results.parquet       derived: one row per attempt, for pandas and DuckDB
//	  manifest.json         what was asked and what ran: see batch help manifest
//	  batch.log             the run's log
//	  grades.jsonl          what grading found, append-only: see batch help
//	                        grades
//	  quarantine.txt        ids of instances that are left out of all rates
//	  logs/                 logs and reports of grading, with the final report
//	                        <model>.<run id>.json beside it: see batch help
//	                        formats
//	  .batch.lock           held with flock(2) by the owner, whose name is in it
//	  <id>/journal.jsonl    the truth about an instance, append-only: see batch
//	                        help journal
//	  <id>/<id>.patch       the submission, byte for byte; absent when there was
//	                        none
//	  <id>/<id>.salvaged.patch  the working tree's diff, byte for byte, of an
//	                        attempt that did not submit
//	  <id>/<id>.traj.json   derived: the last attempt's trajectory: see batch
//	                        help trajectory
//	  <id>/attempts/<n>.json  derived: the trajectory of the earlier attempt n;
//	                        0 is what was there without a journal, such as
//	                        another tool's
//	  <id>/agent.log        this instance's log, all attempts
//	  <id>/http.jsonl       with `batch run --record`: the model calls, all
//	                        attempts, append-only
//	  <id>/a2a.jsonl        of a context of `batch serve`: what its caller was
//	                        promised, append-only, mode 0600
//
// preds.json, the trajectories and exit_statuses.yaml have the form that mini-swe-agent 2
// writes. The two JSON files are,
// byte for byte, what Python's json.dumps(v, indent=2) writes for the same
// members: pure ASCII, no final newline. preds.json is
//
//	{id: {"model_name_or_path": text, "instance_id": id, "model_patch": text}}
//
// with an entry for every instance whose last attempt has a result (batch help program lists
// the outcomes that are one), and none for the others, so that other tools run those again too.
// Entries of other tools keep their text, members unknown here included. A preds.json in another form
// that batch reads (a list, rows that follow each other, a byte order mark, NaN)
// is copied to preds.json.original-<n> and written in this one. An entry that is not a prediction
// is kept and counts as nothing; its instance does not run, unless it is asked for again.
// A run is refused where preds.json cannot be read, or has only such entries, since what is
// in it may have been paid for; batch status counts the entries before the damage. An empty one
// is as good as none where there are journals.
//
// An instance id names a folder: it is 1 to 200 bytes, without slash,
// backslash, NUL and newline, does not begin with a dot and is not one of the
// names that stand in <dir> itself above, nor one with .corrupt-<n> or .original-<n>.
//
// # results.parquet
//
// It has one row per attempt, by instance id, then attempt. The columns are flat, except
// those of names, which are lists. A value that is not known is null: what a crash cut off,
// and most of what another tool did, whose predictions are rows of attempt 0.
//
//	instance_id, repo       repo is the dataset's: owner/name
//	license                 of the repository, where the dataset's row names it
//	attempt                 from 1, over all runs into the directory
//	last                    true in one row of each instance: the attempt that
//	                        counts
//	has_result              its outcome is a result; else the instance is run
//	                        again
//	exit_status             how it ended: Submitted, LimitsExceeded,
//	                        TransientFault
//	outcome                 what that counts as: see batch help program
//	blame                   null without a fault; else usage, instance,
//	                        transient, host, bug, expired or unknown
//	error                   of a fault, and of a result what the provider or the
//	                        container said that ended it
//	model, model_id         as asked for, and as the provider returned it
//	image, image_id, image_digest
//	                        as asked for; sha256:...; its digest in its registry
//	steps, cost             answered model calls, and US dollars
//	lost, held              calls whose cost is not known, since no answer came
//	                        (these are not in steps) or its price is not known,
//	                        and US dollars that were reserved for them; not in
//	                        cost, which is a lower bound then
//	unpriced                how many of lost were answered
//	input_tokens, cached_tokens, cache_write_tokens, cache_write_1h_tokens,
//	output_tokens, reasoning_tokens
//	                        input includes cached and cache_write, cache_write
//	                        what is kept for an hour, output includes reasoning
//	patch_bytes, salvaged   salvaged: the patch is the working tree's diff
//	resumed, differences    how often the attempt was resumed; how many commands
//	                        had another output when they ran again
//	resolved                by the verdict of the attempt's prediction; null
//	                        where none counts, and where the instance is
//	                        quarantined
//	verdict                 see batch help grades; null where it was not graded,
//	                        like those below
//	f2p_passed, f2p_failed, p2p_passed, p2p_failed
//	                        the names of the FAIL_TO_PASS and PASS_TO_PASS tests
//	suspicious              reasons why the verdict may be wrong: a list, mostly
//	                        empty
//	unstable                executions that were repeated had different verdicts
//	grade_seconds           of the execution that the verdict is from
//	quarantined             the instance is listed in quarantine.txt; never null
//	started                 timestamp with microseconds, UTC
//
// The time of an attempt is seconds_total. Its parts are pull, start, prepare, replay, model,
// commands, agent, save and finish, which add up to it:
//
//	seconds_queue           waiting for a worker, or for another attempt; before
//	                        total
//	seconds_pull            of the image, or waiting for it
//	seconds_start           of the container, or reattaching to one
//	seconds_prepare         base commit check, start-up command, waiting for the
//	                        history scrub
//	seconds_replay          recorded commands that ran again in a new container
//	seconds_model           calls of the model, with the next two
//	seconds_rate_wait       the part of model in calls that were refused for the
//	                        rate limit, and in the waits after them; batch
//	                        status and batch help formats call it rate limit
//	seconds_backoff         the part of model in calls that failed otherwise,
//	                        and in the waits after them: back-off
//	seconds_commands        commands of the agent
//	seconds_agent           the agent itself: templates, parsing, the
//	                        conversation
//	seconds_save            writing the journal, and making it durable
//	seconds_finish          patch, files, and the wait until the removal of the
//	                        container begins
//	seconds_total           the whole, without queue, and without the time in
//	                        which a conversation waited for a person
//	seconds_scrub           the scrub of the git history, which runs beside the
//	                        first call: not a part of total
//	seconds_scrub_wait      the part of prepare in which the first command
//	                        waited for the scrub
//
// Versions of batch that did not measure prepare, replay, backoff, agent or finish left 0.
//
// In Python, the resolved rate by repository, and how many predictions it is of, are
//
//	df = pandas.read_parquet("results.parquet")
//	df[df["last"]].groupby("repo").resolved.agg(["mean", "count"])
//
// A grade belongs to an attempt if it is of the same attempt and, for the prediction in
// preds.json, of the same patch; so a prediction that another tool replaced is not graded.
// batch help grades says which of several counts.
//
// # The journal
//
// batch help journal describes its lines and records.
//
// All other files but the manifest, the grades, the quarantine and the logs are derived from
// the journals: at the end of an attempt, after a crash, and by the next run where a journal has
// none of them beside it, since it was made elsewhere and copied alone. Before an attempt
// begins, the trajectory of the one before it is derived into attempts/.
//
// # What survives a crash
//
// A crash is a kill -9, a power cut or a full disk, at any instant.
//
//   - A result that a run has reported: patch, trajectory and outcome are synced,
//     directory entries included. Its journal's end record commits it; patch and
//     trajectory are in place before.
//   - Each step of an attempt, before the next call of the model is made: money is
//     counted from replies. The level process of --durability does not cover a power cut.
//   - A grade that a run has reported.
//   - Every derived file is whole at every instant: it is replaced by a rename.
//     preds.json and exit_statuses.yaml may be behind by a second
//     or nine times what one writing takes, whichever is longer;
//     results.parquet is written at the end of a run. The next run brings the first two up
//     to date from the journals.
//
// What does not survive: records that were appended and not synced, agent.log's
// last lines, and the attempt itself, which counts as pending (Interrupted) until it is
// resumed. What such records leave behind the last whole one is a torn tail: the next run cuts
// it off and reports it. Nothing that is whole is ever cut. A damaged line with
// whole records behind it is not a torn tail but broken storage: that is
// reported where it is in the last attempt, and nothing is changed.
//
// # Resume
//
// An attempt that has no end record, or one whose outcome is pending or
// infrastructure, is resumed under its number. A new one begins
// where its settings were different, or where its fault was not transient and nothing had
// been paid for. Its journal is read like this:
//
//   - The conversation is the messages before the last request, in order. Those
//     behind it follow from that request's step and are void once a resume record
//     comes: the messages behind that record repeat them.
//   - A rewrite changes what is sent with the next request, and counts once that is made:
//     see batch help trajectory. A summary that was paid for is used again, not asked for again.
//   - A request without a reply may have been paid for; its answer is not known, so
//     it is made again. A request with a reply is never made again.
//   - An action with an output is done, and its output stands.
//   - The last container record names the container that holds all that the
//     actions did, if it still lives: the attempt is resumed there. A run that
//     fails keeps it for its own resume, and removes it when there is none.
//   - An action without an output was under way: it may have run in part, completely, or
//     not at all. Its container knows, since every action has an id there, made of its
//     step and number: a command keeps running in it although nobody listens, and its
//     output is kept. So the action is requested by its id. The container returns the
//     output of the one run, once that has ended, or runs the command if it
//     never arrived; it runs no id twice. Time in which nobody waits for the
//     command does not count as worked, and its own time limit keeps running.
//   - Where that container is gone, such an action runs once in a fresh one, after
//     the recorded ones; what it did in the old one is lost.
//   - An action without a command is a call of a tool that executes none, and names the
//     tool. One with an output is not replayed; if the tool was an MCP server's in the
//     container, it has a difference record in a fresh one, since what it did there is
//     missing. One that was under way is made again, so it may be made twice.
//
// In a fresh container the recorded actions are replayed, in order. An action whose
// output or exit code is not the recorded one, times and addresses in memory aside, has a
// difference record. An attempt with one, or whose image is not the one that it began in,
// has diverged: what the model saw is not what is there. Its
// outcome is diverged, which is not a result, at once or at its own end as the run was
// asked, and the instance starts from the beginning.
//
// # Secrets
//
// A resumed attempt must send, execute and submit exactly what it would have
// without the interruption. So text is exact in one place, and secrets are hidden in all others:
//
//	journal.jsonl              exact; mode 0600, for its owner alone
//	<id>.patch, <id>.salvaged.patch, the patches in preds.json
//	                           exact: what is graded must be what was submitted
//	<id>.traj.json, attempts/, agent.log, http.jsonl, manifest.json,
//	results.parquet, exit_statuses.yaml
//	                           with secrets hidden: see batch help secrets
//	grades.jsonl               likewise, except the names of tests, models and
//	                           images
//
// All but the journal have mode 0644, less the umask. Before you pass a run
// directory on, leave the journals out or look through them. A
// patch that holds a secret causes a warning that names the secret, not its value.
//
// # Deleting and moving files
//
// The journal is right about what batch did; everything that is derived from it comes back:
//
//	deleted, or moved away       what the next run into the directory does
//	<id>/, or its journal        keeps the entry in preds.json: it counts as
//	                             another tool's prediction, of attempt 0, and
//	                             the instance does not run again. What it cost
//	                             is forgotten with the journal
//	<id>/ and its entry          runs the instance again, from attempt 1
//	preds.json, or an entry      puts back what the journals have. So does an
//	                             entry whose patch was emptied
//	<id>/attempts/               derives it again
//	<id>/<id>.traj.json, .patch  nothing while one of the derived files is left;
//	                             else derives all
//	exit_statuses.yaml           writes it again once a prediction changes
//	results.parquet              writes it again at its end
//	grades.jsonl                 nothing; the predictions are not graded any
//	                             more
//	manifest.json                writes a new one, and compares its settings
//	                             with nothing
//	a folder that is moved back  takes its journal, and what it cost, into
//	                             account again
//
// To run an instance again and keep what is known of its attempts, use batch retry instead.
//
// The entry of an instance is removed from preds.json, durably, before its next attempt
// begins; so an entry that differs from the journal was written later by somebody else, and
// stands.
//
// # A dataset on several machines
//
// --shard 2/3 takes every third instance, from the second, of those that the other flags
// select. Each machine gets the same command with a shard and a directory of its own, and
// here the others 2/3 and 3/3; --cost-limit-total holds for each by itself:
//
//	batch run --subset verified -m openai/gpt-5 --shard 1/3 -o runs/1
//
// When all have ended, copy the directories to one machine, put the folders of the
// instances into one with the manifest of one of them, and give the same command without
// --shard:
//
//	mkdir runs/all && cp runs/1/manifest.json runs/all
//	find runs/[123] -mindepth 1 -maxdepth 1 -type d ! -name logs \
//	    -exec cp -r {} runs/all \;
//	batch run --grade --subset verified -m openai/gpt-5 -o runs/all
//
// It keeps every result, puts preds.json back from the journals, pays for nothing twice,
// refuses other settings than those of the manifest, and runs what has no result: what was
// interrupted continues in a new container. From then on it is a run directory as any other.
// Verdicts are not joined (each grades.jsonl numbers its records): the tests run again,
// without those whose log this machine has. Without joining, compare takes the shards as
// the attempts of one entry: all=runs/1,runs/2,runs/3.
package results
