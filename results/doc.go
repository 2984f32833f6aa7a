// Package results writes the run directory. This page describes its files. Only this
// package writes them, except where another writer is named.
//
// # Files
//
//	<dir>/
//	  preds.json            derived: predictions, in order of completion; after
//	                        batch merge sorted by id
//	  preds.json.original-<n>  a preds.json that another tool wrote in another
//	                        form
//	  exit_statuses.yaml    derived: exit status -> instance ids, the whole
//	                        directory
//	  results.parquet       derived: one row per attempt, for pandas and DuckDB
//	  manifest.json         what was asked and what ran: see batch help manifest
//	  batch.log             the run's log
//	  grades.jsonl          what grading found, append-only: see batch help
//	                        verdict-files
//	  control.jsonl         changes that people and programs made while a run
//	                        worked, append-only: see batch help control. Mode
//	                        0600
//	  control.sock          the socket of a run that works
//	  detach.log            the output of a run with --detach
//	  quarantine.txt        ids of instances that are left out of all rates
//	  selection.jsonl       of batch select: choices, replies and tests
//	  notes.jsonl           notes of people that an earlier version kept; nothing
//	                        reads it
//	  logs/, <model>.<run id>.json
//	                        logs and reports of grading, and the final report:
//	                        see batch help verdict-files
//	  .batch.lock           held with flock(2) by the owner; has its name
//	  .batch.id             tells the directory from one with the same path on
//	                        another machine, or in another container
//	  <id>/journal.jsonl    the truth about an instance, append-only: see batch
//	                        help journal
//	  <id>/masked.jsonl     the parts of the journal that have secrets, without
//	                        them, for people; absent if there are none
//	  <id>/<id>.patch       the submission, byte for byte; absent if there was
//	                        none
//	  <id>/<id>.salvaged.patch  the working tree's diff, byte for byte, if the
//	                        attempt did not submit
//	  <id>/<id>.traj.json   derived: the last attempt's trajectory: see batch
//	                        help trajectory
//	  <id>/attempts/<n>.json  derived: the trajectory of the earlier attempt n;
//	                        0 is a trajectory without a journal, such as
//	                        another tool's
//	  <id>/agent.log        this instance's log, all attempts
//	  <id>/http.jsonl.gz    with `batch run --record`: the model calls, all
//	                        attempts, append-only
//	  <id>/a2a.jsonl        of a context of `batch serve`: the promises to its
//	                        caller, append-only, mode 0600
//
// preds.json, the trajectories and exit_statuses.yaml have the form that mini-swe-agent 2
// writes. The two JSON files are, byte for byte, as Python's json.dumps(v, indent=2) writes
// the same members: pure ASCII, no final newline. preds.json is
//
//	{id: {"model_name_or_path": text, "instance_id": id, "model_patch": text}}
//
// with an entry for every instance with a result of its last attempt (batch help statuses lists the
// outcomes that are results). If the agent was sent messages by a person, the entry has their number as
// a fourth member, said. Other instances have no entry, so that other tools also run them again.
// Entries of other tools keep their text, including unknown members. If preds.json has another form
// that batch reads (a list, rows that follow each other, a byte order mark, NaN), it is copied to
// preds.json.original-<n> and rewritten in this form. An entry that is not a prediction is kept but
// does not count; its instance does not run, unless it is asked for again. If preds.json cannot be
// read, or has only such entries, a run is refused, because its content may have been paid for; batch
// status counts the entries before the damage. An empty preds.json is accepted if there are journals.
//
// An instance id names a folder: it has 1 to 200 bytes, without slash, backslash, NUL and
// newline, does not begin with a dot, and is neither a name that <dir> itself has above nor
// such a name with .corrupt-<n> or .original-<n>.
//
// # results.parquet
//
// It has one row per attempt, sorted by instance id, then attempt. The columns are flat;
// only columns of names are lists. An unknown value is null: a crash cut it off, or another
// tool made the prediction, which is a row of attempt 0.
//
//	instance_id, repo       repo is the dataset's: owner/name
//	license                 of the repository, where the dataset's row names it
//	attempt                 from 1, over all runs into the directory
//	last                    true in one row of each instance: the attempt that
//	                        counts
//	has_result              its outcome is a result; otherwise the instance runs
//	                        again
//	exit_status             how it ended: Submitted, LimitsExceeded,
//	                        TransientFault
//	outcome                 the exit status's class: see batch help statuses
//	blame                   usage, instance, transient, host, bug, expired or
//	                        unknown; null without a fault
//	error                   the text of a fault; for a result, the message of
//	                        the provider or the container that ended it
//	model, model_id         as asked for, and as the provider returned it
//	agent_version           of a program that is the agent, in its own words
//	image, image_id, image_digest
//	                        as asked for; sha256:...; its digest in its registry
//	steps, cost             answered model calls, and US dollars
//	lost, held              calls of unknown cost, because no answer came (these
//	                        are not in steps) or its price is not known, and US
//	                        dollars that were reserved for them; not in cost,
//	                        which is then a lower bound
//	unpriced                number of answered calls in lost
//	input_tokens, cached_tokens, cache_write_tokens, cache_write_1h_tokens,
//	output_tokens, reasoning_tokens
//	                        input includes cached and cache_write, cache_write
//	                        includes cache_write_1h, output includes reasoning
//	patch_bytes, salvaged   salvaged: the patch is the working tree's diff
//	resumed, differences    how often the attempt was resumed; how many commands
//	                        had another output when they ran again
//	said                    how many messages the agent was sent by people while it
//	                        worked: see batch help control. Not 0 means that a
//	                        person helped
//	resolved                by the verdict of the attempt's prediction; null if
//	                        no verdict counts, or the instance is quarantined
//	verdict                 see batch help verdict-files; this column and the next ones
//	                        are null if the attempt was not graded
//	f2p_passed, f2p_failed, p2p_passed, p2p_failed
//	                        the names of the FAIL_TO_PASS and PASS_TO_PASS tests
//	suspicious              reasons why the verdict may be wrong: a list, mostly
//	                        empty
//	reward                  of a task folder: 1 is resolved; null without one
//	unstable                repeated executions had different verdicts
//	grade_seconds           of the execution that gave the verdict
//	quarantined             the instance is listed in quarantine.txt; never null
//	replaced                another tool's, replaced by batch's; never null
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
//	                        rate limit, and in the waits after them
//	seconds_backoff         the part of model in calls that failed otherwise,
//	                        and in the waits after them
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
//	engine                  the address of the engine that ran the attempt last;
//	                        null if it was not named
//	grade_engine            likewise, of the execution that gave the verdict
//
// Batch status, the summary and the display name these phases without seconds_. There, rate limit and
// back-off are not in model. They also have paused (batch ctl pause holds the next call; not in total),
// other (the rest of total) and, for grading, tests and judge.
//
// Versions of batch that did not measure prepare, replay, backoff, agent or finish left 0.
//
// In Python, the resolved rate by repository, and how many predictions it is of, are
//
//	df = pandas.read_parquet("results.parquet")
//	df[df["last"]].groupby("repo").resolved.agg(["mean", "count"])
//
// A grade belongs to an attempt if it names the attempt and, for the prediction in
// preds.json, has the same patch; so a prediction that another tool replaced is not graded.
// batch help verdict-files says which of several grades counts.
//
// # The journal
//
// batch help journal describes its lines and records.
//
// Except for the manifest, the grades, the quarantine and the logs, all other files are derived
// from the journals: at the end of an attempt, after a crash, and by the next run for a journal that
// lies there alone, such as a copy. When an attempt begins, the trajectory of the one before it is
// derived into attempts/.
//
// # What survives a crash
//
// A crash is a kill -9, a power cut or a full disk, at any instant. These survive it:
//
//   - A result that a run has reported: patch, trajectory and outcome are synced,
//     directory entries included. Its journal's end record commits it; patch and
//     trajectory are in place before.
//   - Each step of an attempt, before the next call of the model is made: money is
//     counted from replies. The level process of --durability does not cover a power cut.
//   - A grade that a run has reported.
//   - Every derived file is whole at every instant: it is replaced by a rename.
//     preds.json and exit_statuses.yaml may lag by a second, or by
//     nine times the duration of one writing, whichever is longer; the next run brings
//     them up to date from the journals. results.parquet is written at the end of a run.
//
// These do not survive: records that were appended but not synced, agent.log's last lines, and
// the attempt itself, which counts as pending (Interrupted) until it is resumed. A crash may
// leave a torn tail after the last whole record: the next run cuts it off and reports it.
// Whole records are never cut. A damaged line before whole records is not a torn tail but
// broken storage: it is reported if it is in the last attempt, and nothing is changed.
//
// # Resume
//
// An attempt is resumed under its number if it has no end record, or an end record with the
// outcome pending or infrastructure. But a new attempt begins if the settings were
// different, or if the fault was not transient and nothing had been paid for. To resume,
// batch reads the journal like this:
//
//   - The conversation has the messages before the last request, in order. Later
//     messages follow from that request's step. A resume record makes them void: the
//     messages after it repeat them.
//   - A rewrite changes the messages of the next request, and counts once that request is
//     made: see batch help trajectory. A conversation with a summary that the model wrote is not
//     continued.
//   - A request without a reply may have been paid for; its answer is not known, so
//     it is made again. A request with a reply is never made again.
//   - An action with an output is done, and its output stands.
//   - The last container record names the container with the effects of all actions. If
//     it still lives, the attempt is resumed there. A run that fails keeps it for its
//     own resume, and removes it if there is no resume.
//   - An action without an output was under way: it may have run in part, completely, or
//     not at all. Its container knows it by an id, made of its step and number. A command
//     keeps running there without a client, and its output is kept. So the action is
//     requested by its id. The container returns the output of the one run, once that
//     has ended, or runs the command if it never arrived; it never runs an id twice.
//     The time without a client does not count as working time, but the command's own
//     time limit keeps running.
//   - If that container is gone, such an action runs once in a fresh one, after the
//     recorded actions; its effects in the old container are lost.
//   - An action without a command is a call of a tool that runs no command, and names the
//     tool. A call with an output is not replayed. If the tool belongs to an MCP server
//     in the container, a fresh container gets a difference record for the call, because
//     its effects are missing. A call that was under way is made again, so it may be
//     made twice.
//
// In a fresh container the recorded actions are replayed, in order. If an action's output
// or exit code differs from the recorded one, except for times and memory addresses, it has
// a difference record. An attempt with such a record, or with another image than at its
// beginning, has diverged: the model saw a state that no longer exists. Its outcome becomes
// diverged, which is not a result, at once or at its own end, as the run's settings say,
// and the instance starts from the beginning.
//
// # Secrets
//
// A resumed attempt must send, execute and submit exactly the same as without the interruption.
// So the journal and the patches are exact, and secrets are hidden everywhere else:
//
//	journal.jsonl              exact; mode 0600, for its owner alone
//	masked.jsonl               what people read in place of its records, with
//	                           secrets hidden: see batch help journal
//	<id>.patch, <id>.salvaged.patch, the patches in preds.json
//	                           exact: the graded patch must equal the submitted one
//	<id>.traj.json, attempts/, agent.log, http.jsonl.gz, manifest.json,
//	results.parquet, exit_statuses.yaml
//	                           with secrets hidden: see batch help secrets
//	grades.jsonl               likewise, except the names of tests, models and
//	                           images
//
// Except for these two, files have mode 0644, less the umask. Before you pass a run
// directory on, leave the journals out or look through them. A patch that contains a secret
// causes a warning that names the secret, not its value.
//
// # Deleting and moving files
//
// The journal is the truth about batch's work; everything that is derived from it comes
// back:
//
//	deleted, or moved away       effect on the next run into the directory
//	<id>/, or its journal        keeps the entry in preds.json: it counts as
//	                             another tool's prediction, of attempt 0, and
//	                             the instance does not run again. Its cost is
//	                             forgotten with the journal
//	<id>/ and its entry          runs the instance again, from attempt 1
//	preds.json, or an entry      restores it from the journals. So does an entry
//	                             with an emptied patch
//	<id>/attempts/               derives it again
//	<id>/masked.jsonl            nothing; but people cannot read the attempts with
//	                             secrets any more, except their trajectories
//	<id>/<id>.traj.json, .patch  nothing if one of the derived files is left;
//	                             otherwise derives all
//	exit_statuses.yaml           writes it again once a prediction changes
//	results.parquet              writes it again at its end
//	grades.jsonl                 nothing; the predictions are not graded any
//	                             more
//	manifest.json                writes a new one, without comparing settings
//	a folder that is moved back  counts its journal and its cost again
//
// To run an instance again and keep its earlier attempts, use batch retry instead.
//
// The entry of an instance is removed from preds.json, durably, before its next attempt
// begins. So if an entry differs from the journal, another program wrote it later, and it
// stays.
//
// # A dataset on several machines
//
// batch help shards describes --shard, and batch merge, which makes one directory of several.
// In the manifest of such a directory, runs has the commands of all, and the request selects the
// whole dataset. In its preds.json the predictions are sorted by instance id; later ones follow.
package results
