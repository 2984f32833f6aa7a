// Package export writes the attempts of run directories as training data and as a table of
// steps. Readers may rely on these formats.
//
// All of them have, for each instance, the attempt that counts. Attempts without a result are
// left out, and so are infrastructure failures and attempts without a reply of a model.
// Secrets are hidden, except in patches, which are exact. Files and folders appear complete or
// not at all.
//
// # Chat JSON Lines
//
// One line for each attempt, unless all its replies were refused:
//
//	messages   [{role, content, reasoning_content, tool_calls, tool_call_id,
//	           name, weight}]
//	tools      [{type, function: {name, description, parameters}}], absent if
//	           the model wrote its commands in its text
//	loss_mask  [0 or 1]: for each message, whether to learn it
//	metadata   which attempt it is, and how it ended: see below
//
// The messages have the form of OpenAI's chat completions, for any API of the model: role is
// system, user, assistant or tool; content is always a text; the arguments of a call are JSON
// in a text. They are the conversation as the model was sent it:
//
//   - A refused reply (it had no valid command) is not in the conversation, because the model
//     was not sent it again. The error that the model was sent in its place is.
//   - A message of the user that follows another one stands by itself here. The model was sent both
//     as one message, with "* * *" between them. Some models (Mistral's, Google's open ones, and
//     those on servers of one's own) were also sent the result of a tool and the message after it
//     as one.
//   - If parts of the conversation were replaced by something shorter (compaction), the
//     messages are the original ones, and metadata.rewrites says from which step on the model
//     was sent others, and how many were replaced.
//   - The last message is the model's last reply. Later messages were never answered.
//
// weight is OpenAI's member for fine-tuning. Only messages of role assistant may have it; it
// is 1, because the model wrote them. All other messages should not be learned, and are 0 in
// loss_mask. reasoning_content is the readable reasoning that a provider keeps apart from the
// reply; hidden or signed reasoning is never exported.
//
// All members of metadata are always present; null: unknown.
//
//	instance_id, repo, license, attempt, model, model_id, exit_status, outcome,
//	resolved, steps, cost, salvaged
//	                 as the columns of results.parquet: see batch help run-directory
//	dataset, split, revision
//	                 as in manifest.json
//	run              name of the run directory, in a sweep SWEEP/CELL
//	refused_replies  how many replies had no valid command
//	rewrites         [{step, policy, messages, tokens_before, tokens_after}]: as
//	                 in a trajectory, see batch help trajectory
//	patch            the prediction; null if there is none, or if it is not text
//	patch_base64     its bytes, if it is not text
//
// # ATIF
//
// One file for each attempt, in version 1.7 of Harbor's Agent Trajectory Interchange Format.
// A message of the conversation is a step with the source system, user or agent; an output is in
// the observation of the step that made the call. Commands in a reply's text are calls of the
// function bash. A message or an output with images is a list of parts; the images are files in
// INSTANCE.images. A refused reply is also a step of the agent, without calls and with
// extra.refused true. extra of the file has the members of metadata. extra of an agent's step has
// seconds and waited, of the model's call, and rewrites. extra of a result has the command's
// exit_code and seconds. Metrics are the provider's counts: prompt_tokens includes cached ones.
// final_metrics counts all calls, including those that were no steps.
//
// # Steps
//
// Parquet, with one row for each answered call of a model, sorted by run, instance and step.
// An unknown value is null. The lists have an element for each action of the step, in order;
// their elements can also be null.
//
//	run                 name of the run directory, in a sweep SWEEP/CELL
//	instance_id, repo, license, attempt, model
//	step                from 1
//	last                it is the attempt's last step
//	asked               when the call was made: timestamp with microseconds, UTC
//	thought             the model's text, without its commands
//	reasoning           text that the provider keeps apart
//	refused             the reply had no valid command
//	rewrites            changes of the conversation, just before the call
//	tools, commands     lists: bash or the tool's name; the command, or the
//	                    tool's arguments
//	exit_codes, output_bytes, command_seconds
//	                    lists: of the commands; output_bytes is null for a
//	                    command that submitted
//	seconds, waited     of the call; waited is the part for rate limits and
//	                    retries
//	cost                US dollars
//	input_tokens, cached_tokens, output_tokens, reasoning_tokens
//	                    input includes cached, output includes reasoning
//	exit_status, outcome, resolved  of the attempt: see batch help run-directory
//
// Its API is not promised to other programs: see package batch.
package export
