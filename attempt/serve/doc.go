// Package serve makes the agent of a run a server of the A2A protocol (Agent2Agent, version 0.3,
// JSON-RPC over HTTP), built on its official SDK. A context of the protocol is a session: an
// instance of the run, with the context id as its id and a container of its own. A message to it
// starts a turn, and a task of the protocol is the work of that turn.
//
// [Server.Next] gives the run its instances, [Server.Talk] leads their conversations, and
// [Server.Handler] answers requests. The package has no flags and opens no port.
//
// # What survives
//
// Everything that the protocol promises a caller is in DIR/CONTEXT/a2a.jsonl and synced before the
// answer: contexts, messages, and ends of tasks with their artifacts. The agent's actions are in the
// journal in the same folder. After a restart, also after kill -9, tasks
// are answered as before, and a task that was accepted or under way continues by itself after its
// last journalled event. The exception is a task with a message that came with the caller's
// credentials, which are not stored: it waits in the state auth-required for a message that has
// them.
//
// A message id is accepted once: a caller that sends it again gets the task of the first message.
//
// # Containers
//
// A context that was unused for [Config.Idle], or that must give its container to another context,
// is paused: its container is removed, and the next message creates a new one in which the recorded
// commands run again.
//
// # Callers
//
// A caller sees only its own contexts and tasks. Those of other callers give the same errors as
// ones that do not exist. The session's metadata has the name of the context's owner.
//
// # Events
//
// A caller gets these events of a turn: the model's texts, as status updates with a message; the
// tool calls and their results, as metadata of status updates, shortened to a few KiB; and the
// artifacts, which are the working tree's diff (patch) and the agent's submission (submission).
// Secrets in texts are hidden; artifacts are exact. One event takes less than 64 KiB as JSON, since
// the SDK's client reads no longer ones; larger artifacts come in chunks.
//
// Its API is not promised to other programs: see package batch.
package serve
