// Package telemetry sends what the attempts of a run do to an OpenTelemetry collector, as
// traces and metrics over OTLP/HTTP, by OpenTelemetry's semantic conventions for generative
// AI (version 1.41.0, the last that Go's semconv module has).
//
// # Traces
//
// An attempt at an instance is a span invoke_agent. Its children are a span chat for each
// model call, from the first try to the reply, and a span execute_tool for each action. The
// context in TRACEPARENT and TRACESTATE is the parent of all attempts; without it each is a
// trace of its own. An attempt that is interrupted and resumed is one span for each run,
// and a call or an action that an interruption cut short is in none of them: spans are sent
// when they end. Tokens, costs and steps of invoke_agent are those of the whole attempt.
//
// A call for a summary is a span chat too, with batch.summary; its step is that of the call
// after it. A conversation that was shortened is an event batch.rewrite of invoke_agent.
//
// A call that failed and was made again is an event batch.retry of its span. What broke the
// flow of the agent (a format error, a limit, a submission) is an event batch.interrupt of
// invoke_agent. The attribute error.type has the kind of the fault (see package fault),
// canceled, timeout (of a command), or the exit status of an attempt that the provider's or
// the environment's refusal ended.
//
// Besides those of the conventions, there are these attributes:
//
//	batch.instance.id      instance
//	batch.instance.repo    its repository
//	batch.attempt          number of the attempt, from 1
//	batch.resumed          how often the attempt was resumed
//	batch.outcome          submitted, empty, limit, ... (see vocab.Outcome)
//	batch.exit_status      exit status of the attempt
//	batch.steps            model calls
//	batch.step             number of the model call
//	batch.action           number of the action in its reply
//	batch.cost             US dollars; missing of a call whose price is not known, which
//	                       counts as 0 in the cost of its attempt
//	batch.patch.bytes      size of the submission
//	batch.summary          the call asks for a summary and is not a step
//	batch.retry.count      tries of the call that failed
//	batch.retry.wait       seconds before the try that was answered
//	batch.rate_limit.wait  seconds of them for rate limits
//	batch.timed_out        the command was killed at its time limit
//	batch.out_of_memory    the command was killed because memory was short
//	batch.output.bytes     what the command wrote
//
// # Metrics
//
//	gen_ai.client.token.usage         input and output tokens of a call
//	gen_ai.client.operation.duration  seconds of a call, its tries and waits included
//	batch.attempts                    attempts that ended, by outcome and exit status
//	batch.cost                        US dollars, by model
//
// # What is sent
//
// Prompts, replies, commands and outputs are sent only if [CaptureVariable] is true. Then
// gen_ai.input.messages has the messages that were added since the call before, those that
// replace others included, not the whole conversation again, and a text is cut after 8 KiB.
// Secrets are hidden in everything that is sent.
//
// # What it costs a run
//
// Nothing waits for the collector. Spans wait in a queue of limited length; those for which
// it has no room are dropped. What could not be sent is one line in the log. [Telemetry.Close]
// waits for the rest, for three seconds at most.
package telemetry
