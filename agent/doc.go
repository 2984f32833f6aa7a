// Package agent is the default agent. It asks the model, runs the commands that the
// model asks for and shows it what they did, until something ends the run.
//
// A [Loop] is stateless and shared by all instances: Run takes a conversation,
// a model and an [Environment], and runs in steps until the last message has
// the role exit. Everything that breaks the flow (a submission, a limit, a
// reply in the wrong form, a command that ran too long, a conversation that the
// provider refuses, an environment that the agent has made unusable) is an
// [Interrupt], an error that carries the messages to append. Everything that must
// survive the run goes to the [Recorder], before it takes effect. Whoever watches a run reads the
// same [Event] values, as a [Listener].
//
// What a [Config] or a [Turn] may allow in addition: a reply without tool calls ends the run
// (FinishWithoutCalls), the model asks a person and gets the answer as the result of its call
// ([AskTool]), and it is shown a failure of its last call and called again (ModelErrors).
// Errors of a table's tools are always shown to the model as the tool's output.
//
// Differences from mini-swe-agent, all on purpose:
//   - When an action submits, the outputs of earlier actions of the same reply are kept.
//   - After a time-out the remaining actions of the reply are not run, and the model is
//     informed.
//   - Every tool call is answered. One without a unique id gets one.
//   - A reply that the model did not end itself, such as one at the limit of its tokens, is a
//     format error, even if its commands can be read: nothing of it is executed.
//   - A submission that was cut short is refused, not accepted.
//   - The text about a time-out does not show how commands are run.
//   - Bytes that are not UTF-8 are kept in addition to the text.
//   - Calls beside each other that change nothing, such as the editor's view, run at the
//     same time where the [Environment] is a [Reader]. Everything is recorded, and shown to
//     the model, as if they had run in order.
//   - A message of the user after another one is sent as a part of that, and NUL as U+FFFD: chat
//     templates and servers refuse both. So is one after the result of a tool, for models of Mistral
//     and Google's open ones, and on the user's own servers. The conversation that is kept has them
//     as they were.
//   - Images of the task follow its text, and the editor's view of a picture shows it, where the
//     configuration allows that.
//   - An answer that a content filter has ended ends the run; mini-swe-agent counts it
//     as a format error.
//   - A conversation that is too long, or refused by the provider's content policy, ends
//     the run without an error. Package compaction keeps it short enough, if asked to.
package agent
