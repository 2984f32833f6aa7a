// Package serve makes the agent of a run a server of the A2A protocol (Agent2Agent, version
// 0.3, JSON-RPC over HTTP), on its official SDK. A context of the protocol is a session: an
// instance of the run whose id is the context id, with a container of its own. A message to
// it is a turn, and a task of the protocol is what the turn works on.
//
// [Server.Next] gives the run its instances, [Server.Talk] leads their conversations, and
// [Server.Handler] answers requests. The package has no flags and opens no port.
//
// # What survives
//
// What the protocol promises a caller is in DIR/CONTEXT/a2a.jsonl, synced before it is
// answered: contexts, messages, ends of tasks with their artifacts, and where notifications
// go. What the agent does is in the journal beside it. After a restart, also after kill -9,
// tasks are answered as before, and one that was accepted or under way continues by itself,
// after its last journalled event. Only where the message came with credentials of the caller, which
// are nowhere stored, the task waits in the state auth-required for a message that has them.
//
// A message id is taken once: a caller that sends it again gets the task that it began.
//
// # Containers
//
// A context that nobody uses for [Config.Idle], or whose container another context needs,
// is paused: its container is removed, and the next message makes a new one in which the
// recorded commands run again.
//
// # Callers
//
// A caller sees its own contexts and tasks. All others do not exist for it: the errors are
// the same. The context's owner is in its session's metadata, by name.
//
// # Events
//
// Of a turn's events, a caller gets the model's texts, as status updates with a message, the
// tool calls and their results, as metadata of status updates, shortened to a few KiB, and the artifacts: the
// working tree's diff (patch) and what the agent submitted (submission). Texts have their
// secrets hidden, artifacts are exact. One event takes less than 64 KiB as JSON, since the
// SDK's client reads no longer ones; larger artifacts come in chunks.
package serve
