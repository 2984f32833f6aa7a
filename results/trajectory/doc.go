// Package trajectory reads an attempt at an instance, step by step. It reads the journal if
// there is one, also while the attempt runs; otherwise it reads a trajectory file: of batch,
// of mini-swe-agent, of SWE-agent (INSTANCE.traj), or in Harbor's format ATIF (trajectory.json).
//
// A trajectory file is JSON in the form of mini-swe-agent 2, mini-swe-agent-1.1, which other
// tools read, with additional members of batch. INSTANCE/INSTANCE.traj.json is the
// trajectory of the last attempt at an instance, INSTANCE/attempts/N.json of the earlier
// attempt N. They are made from the journal at the end of an attempt, with secrets hidden.
// Costs are in US dollars. Empty members are absent, unless mini-swe-agent always writes
// them.
//
//	info               the attempt: see below
//	messages           the conversation, in order: see below
//	trajectory_format  "mini-swe-agent-1.1"
//	instance_id        the dataset's
//
// # info
//
//	model_stats      {instance_cost, api_calls}: cost, and number of answered
//	                 calls
//	config           {agent, environment, model, run}: the settings, as in
//	                 manifest.json, with this instance's image. Also prompts,
//	                 as in manifest.json, and agent_type, environment_type
//	                 and model_type, which name batch's parts where
//	                 mini-swe-agent has Python classes
//	mini_version     version of mini-swe-agent that defines the form
//	batch_version    version of batch
//	exit_status      how the attempt ended: Submitted, LimitsExceeded, ...
//	submission       the patch, as in preds.json; "" without one
//	exception_str    the error that ended it
//	traceback        if batch itself failed: a bug
//	salvaged_patch   the working tree's diff, if the agent did not submit
//	prediction_note  why the patch in preds.json is not byte for byte the
//	                 submitted one
//	image_commit     {head, files, total, mismatch}, if the image is not at
//	                 the row's base_commit: its own commit, up to 100
//	                 different files, their number, and why the difference is
//	                 more than the set-up of an environment
//	batch            the outcome: see below
//	rewrites         texts that the model was sent in place of some messages:
//	                 see below
//
// # info.batch
//
// These have the meaning of the columns of results.parquet with the same names:
//
//	instance_id, repo, license, attempt
//	exit_status, outcome, blame, error
//	model, model_id, agent_version, image, image_id, image_digest, engine
//	steps, cost, lost, held, unpriced
//	patch_bytes, salvaged, resumed, differences, said, started
//
// usage is an object with the tokens: input_tokens, cached_tokens, cache_write_tokens,
// cache_write_1h_tokens, output_tokens and reasoning_tokens. seconds is an object with the
// columns seconds_...: queue, pull, start, prepare, replay, model, rate_wait, backoff,
// commands, agent, save, finish, total, scrub and scrub_wait. resolved, grade and
// quarantined are not in the file: grades.jsonl and quarantine.txt have them.
//
// # messages
//
//	role          system, user, assistant or tool; exit for the last message,
//	              which the model is not sent
//	content       the text; for exit, the submission or why the attempt ended
//	tool_calls    of an assistant: [{id, type, function: {name, arguments}}].
//	              The arguments are JSON in a text
//	tool_call_id  in a tool's message: the call that it answers
//	extra         data of batch, which the model is not sent
//
// An assistant's message that came from a server of OpenAI's chat completions has all members
// that the server sent, such as reasoning_content.
//
// # extra
//
// In every message except the first two:
//
//	timestamp  when it was added: seconds since 1970
//
// In an assistant's message:
//
//	actions   [{command, tool_call_id}]: the commands of the reply. For a
//	          call of another tool than bash, tool is its name and arguments
//	          are its arguments; the command is "" if the tool runs none
//	cost      of the call
//	response  the provider's answer, unchanged. If it is not JSON, an object
//	          with its known parts: model, choices and usage
//
// In a message that shows the model an action's result (role tool; user if the model writes
// its commands in its text):
//
//	raw_output         stdout and stderr, before the template of observations
//	                   was applied. Bytes that are not UTF-8 are U+FFFD
//	raw_output_base64  the exact bytes, if some of them are not UTF-8
//	output_bytes       how long the output was, if raw_output is cut
//	returncode         the exit code; -1 if the command was killed at its time
//	                   limit or did not run
//	exception_info     a failure beside the exit code, for the model to read;
//	                   otherwise ""
//	exception_type     TimeoutExpired: killed at its time limit
//	exception          exception_info again, in that case
//	oom                true: the kernel killed a process, since the container
//	                   had no memory left
//
// In a message in the middle of the attempt that is not an observation:
//
//	interrupt_type  FormatError: the answer to a reply without a valid
//	                command; the reply itself is not among the messages.
//	                UserInterruption: a person's words. ModelError: a call
//	                failed, and the model is shown why
//	cost, response  for a FormatError: of the reply
//	n_actions       for a FormatError, if the model writes its commands in its
//	                text: how many there were
//	model_response  likewise: the text of the reply
//
// In the message with the role exit:
//
//	exit_status        as in info
//	submission         the submitted text; "" if nothing was submitted
//	submission_base64  its exact bytes, if some of them are not UTF-8
//	exception_str      the error that ended the attempt
//	hint               what you can do about it
//	cost, response     of a reply that a content filter of the provider ended
//
// extra also has parts if the members above cannot express a message of Anthropic's, Google's or
// OpenAI's Responses API: a list of all parts of the message, in order. type is text, reasoning,
// tool_call, image or tool_result; text is absent if it is the whole content; a tool_result has
// tool_call_id and parts, an image has media_type and data (base64); opaque is {provider, data},
// which only the provider understands. The rest of a tool_call is in tool_calls.
//
// # rewrites
//
// With agent.context_policy, parts of a long conversation are replaced by something shorter.
// messages has the original ones; rewrites lists the changes, in order:
//
//	at             number of messages at the time
//	step           number of the next call
//	policy         shorten or drop; in earlier runs summarize, too
//	refused        true: the provider had found the conversation too long
//	tokens_before  length of the request, estimated
//	tokens_after   the same, after the change
//	messages       how many messages were replaced
//	summary        {cost, usage, model, seconds}: the call that wrote the
//	               summary. Its cost is a part of instance_cost; it is not a
//	               step
//	edits          [{from, to, messages}]: the messages that replace the ones
//	               from index from up to, but not including, to
//
// To find the messages of a step's request, take the messages before the step's reply one by
// one, without the role exit. Before the message with index at, apply the edits of that
// rewrite to the list so far: their indexes refer to this list.
//
// Its API is not promised to other programs: see package batch.
package trajectory
