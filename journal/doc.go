// Package journal writes the append-only history of one instance, INSTANCE/journal.jsonl,
// reads it, and finds the state from which an interrupted attempt can be resumed. This file is
// the source of truth about the instance: except for the manifest, the grades and the logs,
// everything in the run directory is derived from it. It is exact, secrets included, and only
// its owner may read it. What people read of it has no secrets: see "For people".
//
// # Lines
//
// One record per line, in JSON (UTF-8), members always in this order (shown on three lines):
//
//	{"v":2,"seq":3,"attempt":2,"start":812,"calls":1,"cost":0.02,"lost":1,
//	 "spent":0.03,"masked":-1,"t":"...","type":"reply","data":{...},
//	 "crc":"89abcdef"}
//
//	v        version of the format that understands the record; a reader
//	         refuses records newer than it knows
//	seq      from 1, without gaps, over all attempts
//	attempt  the attempt that the record belongs to, from 1
//	start    byte offset of the line with which that attempt began
//	calls    replies of that attempt so far, this record included
//	cost     US dollars of those replies, and of calls that are no steps
//	lost     calls of that attempt that may have been charged although no
//	         answer is known, including a running call; absent if 0
//	spent    cost, plus the estimated cost of the lost calls; absent if equal
//	         to cost
//	masked   where the record's copy for people is; -1 if it has no secret.
//	         Absent if the record was not searched for secrets
//	t        time, RFC 3339 with nanoseconds, UTC
//	type     lower-case word; readers skip types that they do not know
//	data     any JSON
//	crc      CRC-32C (Castagnoli), 8 hex digits, of the line's bytes before
//	         `,"crc"`
//
// So the last record alone gives the state and the cost of the instance, and opening a
// directory reads only the end of each journal. crc and v keep their place in every
// version.
//
// # Records
//
// The data of a reply record, for instance, is {step, cost, usage, ...}. Empty members are
// absent. Steps and the actions of a step are numbered from 1. Bytes are base64, so that
// they are exact even if they are not UTF-8.
//
// An attempt begins and ends with these:
//
//	attempt     an attempt began. owner: the process, "host H, pid N, since
//	            T". settings: see below. earlier: [{record, spent}] of the
//	            attempts before it
//	resume      the attempt, which had ended or broken off, is resumed. owner,
//	            settings
//	prediction  model_name_or_path, model_patch: valid if an end record with
//	            its digest follows
//	end         the attempt is over. record: the outcome, as info.batch of a
//	            trajectory. spent: its cost, plus the estimated cost of its lost
//	            calls. prediction_sha256: of model_name_or_path, a NUL byte and
//	            model_patch; absent without a prediction. notes:
//	            {salvaged_patch, prediction_note, image_commit, traceback}, as
//	            in info of a trajectory. earlier, as in attempt. A second end
//	            of one attempt replaces the first
//	reset       the result is forgotten; the instance is unfinished again.
//	            earlier
//
// settings has model, config, salvage, timeout_multiplier, price and prompts as in manifest.json; row is the
// digest of the dataset's row, and version is batch's. If a run's settings differ in something
// that affects results, it begins a new attempt instead of resuming the old one.
//
// In between, it has these:
//
//	container   the container for the actions from now on. container: its id.
//	            engine: its engine's address, if it was named.
//	            image, image_id, digest: its image. base: the commit of the
//	            working tree as the agent began. image_commit: {head, files, total,
//	            mismatch}, as in a trajectory. preamble: bytes that the shell
//	            prints before each output, which are taken off. adopted: it is
//	            the same container as before. replayed, differences: actions
//	            that ran again in a new one, and how many of them had another
//	            output. pull, start, prepare, replay: seconds until it was
//	            ready
//	difference  an action that ran again had another output. step, action,
//	            command; output: bytes, perhaps only the beginning; total,
//	            exit_code, timed_out, as in output
//	messages    messages: appended to the conversation, as in a trajectory.
//	            reply, shared: see "Large data"
//	rewrite     parts of what is sent to the model were replaced, from the
//	            request of step on. policy, refused, tokens_before,
//	            tokens_after, edits: as in rewrites of a trajectory. summary:
//	            in earlier journals, digest of the call in which the model
//	            wrote the summary in it
//	request     a paid call is about to be made. step; digest: of the messages
//	            and tools; tokens: length by an estimate; reserved: dollars
//	            that count as spent until it is known what the call cost
//	reply       the call was answered. step; cost: US dollars; priced: whether
//	            the cost is known; usage: tokens, as in a trajectory; model: as
//	            the provider names it; seconds: of the call; waited: seconds of
//	            it for rate limits and retries; limited: seconds for rate
//	            limits alone; message; finish_reason; response: the provider's
//	            answer; shared: see "Large data"
//	summary_request, summary
//	            a call which shows that the model accepts the conversation
//	            without its older steps, or, in earlier journals, in which it
//	            wrote the summary for the rewrite that follows. It is paid,
//	            and is not a step.
//	            summary_request has the data of request; summary has step,
//	            digest, and reply as above
//	try         another try of the call is about to be made. step, reserved
//	unpaid      the last try failed, and was not charged. step
//	lost        calls were not answered, and may have been charged. step;
//	            calls: how many; cost: their estimated cost
//	action      a command is about to run, or has run if it changes nothing.
//	            step, action, command; tool: the tool's name, if there is no
//	            command
//	output      the command ended. step, action; total: bytes that it wrote;
//	            exit_code: -1 if it was killed at its time limit, then
//	            timed_out is true; oom: true if the container had no memory
//	            left; note: what else happened to the container, for the
//	            model; shown: the text that the model read, if too few bytes
//	            are kept to derive it; timeout: the limit in seconds; seconds;
//	            sha256: of the bytes that the agent had; output: the bytes that
//	            are kept
//	interrupt   the flow was interrupted; the messages follow. step; name:
//	            FormatError, ExecutionTimeout, ..., or an exit status
//	submission  submission: the bytes that the agent submitted; null: an
//	            earlier one no longer applies
//	salvage     patch: the bytes of the working tree's diff, if the attempt
//	            did not submit. It is valid until the next one, also after a
//	            resume; null as above
//
// An attempt is a session of one or more turns, with these records. A batch run has one turn, which
// has no words; up to version 4 it was not recorded, and a reader adds it:
//
//	session     the session's properties. context: its id; status: when it was
//	            saved; metadata: texts by name. A later one replaces it
//	turn        a turn began. turn: from 1; words: the person's, none in a
//	            batch run; metadata
//	turn_end    the turn ended. turn; end: finished, max_iterations (a limit
//	            was reached), input_required (the agent has asked something)
//	            or failed; status: an exit status; question; error
//	retry       null: the open turn is tried again. As after a resume, what
//	            was recorded after its last request is recorded again
//	artifact    a result of the session. turn, name, media_type; data: the
//	            bytes. One with the same name replaces it
//	clear       null: the conversation and the artifacts so far are forgotten.
//	            They stay in the journal for its readers
//
// # For people
//
// Whoever looks at a run later does not know its secrets. So the run that writes a record and finds
// a secret in it also writes a copy, in which the secret is hidden, into masked.jsonl beside the
// journal (mode 0600): the same line with the masked data, at the byte that the record's masked
// names. Bytes are masked before they become base64, and a copy repeats the texts that the record
// shares with a reply. A copy is written before its record, and made durable before it. Nothing else
// is in that file, and without a secret there is no file.
//
// Trajectories, batch show, batch view, its search and its exported pages are made from the copies. A
// resume, a replay, grading, bills and budgets need the records themselves. A record whose copy is
// missing is not shown: copy both files. Older versions did not search their records for secrets. Batch
// then hides only what the process itself knows, says so where it shows such an attempt, and exports
// it only with batch view --unmasked.
//
// # Large data
//
// Large data is stored once. In a message's extra, raw_output may be {"step": n, "action": n},
// which refers to the output record, and response may be {"step": n}, which refers to the
// reply record; the trajectory has both in place of the references. The text of a reply is only
// in its message: each string of 64 bytes or more that is also in the message is "" in the
// response, and shared lists its offset in the response, and where its bytes begin and end in
// the message. Messages that are appended after the reply use the same form, with offsets in
// their list; reply is then the step of the reply. The base64 of a picture that an action of the reply has
// read, since the last resume, stands in quotes behind the message, one after the other: an image of these
// messages refers to it. An output is such a picture if it begins with the line BATCH_EDITOR_PICTURE.
//
// A submitting output and a picture are kept up to 10 MiB; other outputs are cut to 1 MiB, the
// beginning and the end. When an attempt's outputs reach 64 MiB, each further one is cut to 64 KiB, also a
// picture that the model is not shown. A trajectory reports a cut as extra.output_bytes.
//
// Its API is not promised to other programs: see package batch.
package journal
