// Package results is the run directory: its format, which this comment
// specifies, and the only code that writes it.
//
// # Files
//
//	<dir>/
//	  preds.json            derived: predictions, in order of completion
//	  exit_statuses.yaml    derived: exit status -> instance ids, the whole directory
//	  results.parquet       derived: one row per attempt, see Record
//	  manifest.json         what was asked and what ran, see Manifest
//	  batch.log             the run's log; written by the program, not by this package
//	  .batch.lock           held with flock(2) by the owner, whose name is in it
//	  <id>/journal.jsonl    the truth about an instance, append-only
//	  <id>/<id>.patch       the submission, byte for byte; absent when there was none
//	  <id>/<id>.salvaged.patch  the work tree's diff, byte for byte, of an attempt that did not submit
//	  <id>/<id>.traj.json   the last attempt's trajectory, see Trajectory
//	  <id>/agent.log        this instance's log, all attempts
//
// preds.json, the trajectories and exit_statuses.yaml have the form that
// mini-swe-agent 2 gives them and its readers expect. The two JSON files are,
// byte for byte, what Python's json.dumps(v, indent=2) writes for the same
// members: pure ASCII, no final newline. preds.json is
//
//	{id: {"model_name_or_path": text, "instance_id": id, "model_patch": text}}
//
// with an entry for every instance whose last attempt has a final [Outcome],
// and none for the others, so that other tools run those again too. Entries of
// other tools keep their text, members unknown here included. A preds.json
// that cannot be read is renamed to preds.json.corrupt-<n>, and the entries
// that stand whole before the damage are taken over.
//
// An instance id names a folder: it is 1 to 200 bytes, without slash,
// backslash, NUL and newline, does not begin with a dot and is none of the
// names that stand in <dir> itself above, nor preds.json.corrupt-<n>.
//
// # The journal
//
// One record per line, in JSON (UTF-8), members always in this order:
//
//	{"v":1,"seq":3,"attempt":2,"start":812,"calls":1,"cost":0.02,"t":"...","type":"reply","data":{...},"crc":"89abcdef"}
//
//	v        version of the format; a reader refuses records newer than it knows
//	seq      from 1, without gaps, over all attempts
//	attempt  the attempt that the record belongs to, from 1
//	start    byte offset of the line with which that attempt began
//	calls    replies of that attempt so far, this record included
//	cost     US dollars of those replies, and of what the attempt had cost besides when it was gone on with
//	t        time, RFC 3339 with nanoseconds, UTC
//	type     lower-case word; readers pass over those they do not know
//	data     any JSON
//	crc      CRC-32C (Castagnoli), 8 hex digits, of the line's bytes before `,"crc"`
//
// The last record alone thus says where the instance stands and what it cost:
// opening a directory reads journals from the back. crc and v keep their
// place in every version.
//
// Record types of the store:
//
//	attempt     {owner, earlier}: an attempt began. earlier: [{record, spent}] of those before it
//	prediction  {model_name_or_path, model_patch}: valid if an end record follows
//	end         {record, spent, prediction_sha256, earlier}: the attempt is over. record is a
//	            Record; spent is never less than the replies' cost; the digest is of
//	            model_name_or_path, a NUL byte and model_patch, and absent without a prediction.
//	            A second end of one attempt replaces the first
//	reset       {earlier}: the result is to be forgotten; the instance is unfinished again
//	resume      {owner}: the attempt that was over, or broke off, is gone on with
//
// Record types of whoever runs the attempt, with the Go types of their data.
// Of these the store reads only "cost" of a reply, and [ReadHistory] all:
//
//	container   ContainerData: where the actions run from here on
//	difference  DifferenceData: an action that ran again did something else
//	messages    MessagesData: appended to the conversation
//	request     RequestData: a paid call is about to be made
//	reply       ReplyData: it was answered, and cost so much
//	action      ActionData: a command is about to run
//	output      OutputData: it ended
//	interrupt   InterruptData: the flow was broken; the messages follow
//	submission  SubmissionData: what was handed in
//
// JSON holds no bytes that are not UTF-8: what must stay exact is encoded.
//
// # What survives a crash
//
// A crash is a kill -9, a power cut or a full disk, at any instant.
//
//   - A result whose [Store.Put] returned nil: patch, trajectory and outcome are
//     synced, directory entries included. Its journal's end record commits it;
//     patch and trajectory are in place before.
//   - A record for which [Journal.Sync] returned nil, and all before it; at the
//     level [Process] a power cut is left out of this. Money is counted from
//     replies, so a reply is to be synced before the next call.
//   - A record for which [Journal.Flush] returned nil outlives the process.
//   - Every derived file is whole at every instant: it is replaced by rename.
//     preds.json and exit_statuses.yaml may be behind by [Options.FlushEvery]
//     or nine times what one writing takes, whichever is longer;
//     results.parquet is written by [Store.Close]. [Open] makes up for
//     it from the journals.
//
// What does not survive: records that were appended and not synced, agent.log's
// last lines, and the attempt itself, which counts as Pending ("Interrupted").
// What such records leave behind the last whole one is a torn tail: [Open] cuts
// it off and tells of it. Nothing that is whole is ever cut. A damaged line with
// whole records behind it is no torn tail but broken storage: [ReadJournal]
// reports it, with the records before it, and nothing is changed.
//
// # Going on
//
// An attempt that has no end record, or one whose outcome is Pending, or
// Infrastructure by a transient fault or the host's, is not started anew but
// gone on with, under its number: [Store.Resume]. Its journal is read so:
//
//   - The conversation is the messages before the last request, in order. Those
//     behind it follow from that request's step and are void once a resume record
//     comes: the messages behind that record tell them again.
//   - A request without a reply was perhaps paid for; nobody knows the answer, so
//     it is asked again. A reply stands: it is never asked for again.
//   - An action with an output is done, and its output stands.
//   - An action without an output may have run half, or wholly, or not at all. What
//     it did is not guessed at and it is never run a second time where it may
//     have run before: its container is given up, and in a fresh one it runs once,
//     behind the recorded ones. So is the container given up of an attempt with
//     an end record.
//   - Else the last container record names the container that holds all that
//     the actions did, if it still lives: the attempt goes on there.
//
// In a fresh container the recorded actions are executed again, in order. Where
// one does something else than what is recorded, a difference record tells it,
// and the record counts; the conversation keeps what is recorded.
//
// # Secrets
//
// [Options.Mask] hides secrets in everything that this package writes: journal
// records, trajectories, agent.log, errors in records, the manifest. Exact are
// only the patch files, the patches in preds.json, and in the journal the
// submission and prediction records and the output that handed in: what is to
// be graded must be what was submitted. A patch that holds a secret is told by a
// warning that names it.
//
// An attempt that is gone on with is taken from its journal, and so with the
// secrets hidden: from there on the model sees [mask.Hidden] where it saw the
// value before. A command that held one stands in the journal marked as masked.
// When it has to be executed again, it runs as it stands there, which is not what
// ran before; agent.log tells of it, and another output is a difference.
//
// # Who is right
//
// The journal is, about what batch did. An entry missing from preds.json, or
// emptied, is put back from the journal; to have an instance run again use
// [Store.Reset], or move its folder away. The entry of an instance is removed,
// durably, before its next attempt begins; so an entry that differs from the
// journal was written later by somebody else, and stands.
package results
