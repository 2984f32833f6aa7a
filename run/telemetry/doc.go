// Package telemetry sends the events of a run's attempts to an OpenTelemetry collector, as
// traces and metrics over OTLP/HTTP, by OpenTelemetry's semantic conventions for generative
// AI (version 1.41.0, the latest in Go's semconv module).
//
// # Traces
//
// An attempt at an instance is a span invoke_agent. Its children are a span chat for each
// model call, from the first try to the reply, and a span execute_tool for each action. The
// context in TRACEPARENT and TRACESTATE is the parent of all attempts; without it each is a
// trace of its own. An attempt that is interrupted and resumed has one span for each run.
// None of them has the calls and actions that an interruption cut short, because spans are
// sent when they end. Tokens, costs and steps of invoke_agent count the whole attempt.
//
// A call that asks whether a shorter conversation is accepted is also a span chat, with
// batch.probe and the step of the next call. A shortened conversation is an event batch.rewrite of
// invoke_agent.
//
// A call that failed and was made again is an event batch.retry of its span. An interrupt
// of the agent's flow (a format error, a limit, a submission) is an event batch.interrupt
// of invoke_agent. The attribute error.type has the kind of the fault (see package fault),
// canceled, timeout (of a command), or the exit status of an attempt that a refusal of the
// provider or the environment ended.
//
// Batch adds these attributes to the conventions' own:
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
//	batch.cost             US dollars; missing for a call of unknown price, which counts
//	                       as 0 in the cost of its attempt
//	batch.patch.bytes      size of the submission
//	batch.probe            the call asks whether a shorter conversation is accepted, and is
//	                       not a step
//	batch.retry.count      tries of the call that failed
//	batch.retry.wait       seconds before the try that was answered
//	batch.rate_limit.wait  seconds of them for rate limits
//	batch.timed_out        the command was killed at its time limit
//	batch.out_of_memory    the command was killed because memory was short
//	batch.output.bytes     bytes that the command wrote
//
// # Metrics
//
//	gen_ai.client.token.usage         input and output tokens of a call
//	gen_ai.client.operation.duration  seconds of a call, including tries and waits
//	batch.attempts                    attempts that ended, by outcome and exit status
//	batch.cost                        US dollars, by model
//
// # What is sent
//
// Prompts, replies, commands and outputs are sent only if [CaptureVariable] is true. Then
// gen_ai.input.messages has the messages that were added since the previous call, including
// replacements, not the whole conversation again. A text is cut after 8 KiB. Secrets are
// hidden in everything that is sent.
//
// # What it costs a run
//
// Nothing waits for the collector. Spans wait in a queue of limited length; if it is full,
// further spans are dropped. A failure to send is one line in the log. [Telemetry.Close] waits
// for the rest, for three seconds at most.
//
// Its API is not promised to other programs: see package batch.
package telemetry
