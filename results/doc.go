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
//	  <id>/<id>.traj.json   derived: the last attempt's trajectory, see Trajectory
//	  <id>/agent.log        this instance's log, all attempts
//
// preds.json, the trajectories and exit_statuses.yaml have the form that
// mini-swe-agent 2 gives them and its readers expect. The two JSON files are,
// byte for byte, what Python's json.dumps(v, indent=2) writes for the same
// members: pure ASCII, no final newline. preds.json is
//
//	{id: {"model_name_or_path": text, "instance_id": id, "model_patch": text}}
//
// with an entry for every instance whose last attempt has a final [vocab.Outcome],
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
// Its lines and the records of whoever runs the attempt are specified by package
// journal. Record types of the store:
//
//	attempt     {owner, settings, earlier}: an attempt began. settings: [manifest.Settings];
//	            earlier: [{record, spent}] of those before it
//	salvage     {patch}: the work tree's diff, where the attempt did not submit; it stands
//	            until the next one, over a resume too. Of null, and so of submission, is none
//	prediction  {model_name_or_path, model_patch}: valid if an end record with its digest follows
//	end         {record, spent, prediction_sha256, earlier, notes}: the attempt is over. record
//	            is a Record; spent is never less than the replies' cost; the digest is of
//	            model_name_or_path, a NUL byte and model_patch, and absent without a prediction;
//	            notes are [Notes]. A second end of one attempt replaces the first
//	reset       {earlier}: the result is to be forgotten; the instance is unfinished again
//	resume      {owner, settings}: the attempt that was over, or broke off, is resumed
//
// All other files but the manifest and the logs follow from the journals, by one code
// at the end of an attempt, after a crash, and by [Open] where there is a journal and
// none of them: a journal that was made elsewhere may be shipped alone. What hides
// secrets in them is the [Options.Mask] of who writes them.
//
// # What survives a crash
//
// A crash is a kill -9, a power cut or a full disk, at any instant.
//
//   - A result whose [Store.Put] returned nil: patch, trajectory and outcome are
//     synced, directory entries included. Its journal's end record commits it;
//     patch and trajectory are in place before.
//   - A record for which [journal.Writer.Sync] returned nil, and all before it; at the
//     level [journal.Process] a power cut is left out of this. Money is counted from
//     replies, so a reply is to be synced before the next call.
//   - A record for which [journal.Writer.Flush] returned nil outlives the process.
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
// whole records behind it is no torn tail but broken storage: [journal.ReadHistory]
// reports it where it is in the last attempt, and nothing is changed.
//
// # Resume
//
// An attempt that has no end record, or one whose outcome is Pending or
// Infrastructure, is resumed, under its number: [Store.Resume]. A new one begins
// where its settings were others, or its fault was not transient and nothing had
// been paid for. Its journal is read so:
//
//   - The conversation is the messages before the last request, in order. Those
//     behind it follow from that request's step and are void once a resume record
//     comes: the messages behind that record tell them again.
//   - A request without a reply was perhaps paid for; nobody knows the answer, so
//     it is asked again. A reply stands: it is never asked for again.
//   - An action with an output is done, and its output stands.
//   - The last container record names the container that holds all that the
//     actions did, if it still lives: the attempt is resumed there. A run that
//     fails keeps it for its own resume, and removes it when there is none.
//   - An action without an output was under way: it may have run half, or wholly, or
//     not at all. Its container knows, since every action goes there under an id, its
//     step and action: a command goes on in it although nobody listens, and what came
//     of it is kept. So the action is asked for by its id. The container gives the
//     output of the one run, once that has ended, or runs the command if it
//     never came there; it runs no id twice. Time in which nobody waits for the
//     command does not count as worked, and its own time limit goes on.
//   - Where that container is gone, such an action runs in a fresh one, once, behind
//     the recorded ones; what it did in the other is gone with that.
//
// In a fresh container the recorded actions are executed again, in order. One that
// does something else than what is recorded, times and addresses in memory aside,
// has a difference record; so has its attempt an image that is not the one it began
// in. Such an attempt has diverged: what the model saw is not what is there. It ends
// as [vocab.OutcomeDiverged], which is no result, at once or at its own end as its run was
// asked to, and the instance begins anew.
//
// # Secrets
//
// A resumed attempt must send, execute and submit exactly what it would have
// without the interruption. So text is exact in one place and hidden in all others:
//
//	journal.jsonl              exact; mode 0600, for its owner alone
//	<id>.patch, <id>.salvaged.patch, the patches in preds.json
//	                           exact: what is graded must be what was submitted
//	<id>.traj.json, agent.log, manifest.json, results.parquet, exit_statuses.yaml
//	                           with the secrets that [Options.Mask] knows hidden
//
// All but the journal have mode 0644, less what the umask takes. Whoever passes
// a run directory on leaves the journals out, or looks through them first. A
// patch that holds a secret causes a warning that names the secret, not its value.
//
// # Who is right
//
// The journal is, about what batch did. An entry missing from preds.json, or
// emptied, is put back from the journal; to have an instance run again use
// [Store.Reset], or move its folder away. The entry of an instance is removed,
// durably, before its next attempt begins; so an entry that differs from the
// journal was written later by somebody else, and stands.
package results
