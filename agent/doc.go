// Package agent is the default agent: ask the model, run what it asks for,
// show it what happened, until something ends the run.
//
// A [Loop] is stateless and shared by all instances: Run takes a conversation,
// a model and an [Environment], and goes on in steps until the last message has
// the role exit. Everything that breaks the flow (a submission, a limit, a
// reply in the wrong form, a command that ran too long, a conversation that the
// provider refuses, an environment that the agent has made unusable) is an
// [Interrupt], an error that carries the messages to append. What must outlive the
// run is the [Recorder]'s, which hears of everything before it matters.
//
// What differs from mini-swe-agent, on purpose: outputs of earlier actions of
// a reply are kept when a later one submits; after a time-out the remaining
// actions of that reply are not run and are told so; every tool call is
// answered; a submission that was cut short is refused instead of accepted; the
// text of a time-out does not show how commands are run; bytes that are not
// UTF-8 are kept beside the text; a tool call without an id of its own is given
// one; an answer of which a content filter left nothing ends the run, where
// mini-swe-agent counts it as a format error. A conversation that is too long, or
// refused by the provider's content policy, ends the run in both, here without
// an error.
package agent
