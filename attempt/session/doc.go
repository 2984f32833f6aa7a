// Package session is a conversation with an agent that outlives a turn and a process. A
// [Session] has the identity, the state and the history; [agent.Loop] runs one turn over the
// given messages and keeps nothing. An attempt of a batch run is a session
// with one turn.
//
// # Life
//
// A session is created by [New], made ready by [Session.Start], which also loads its records,
// busy while a [Turn] runs, paused, and shut down. Start after a pause loads nothing. After a
// shutdown, another Session continues with the records in the store, in the same process or
// another.
//
// # Turns
//
// A turn is the agent's work on a person's words. It ends in one of four ways:
// finished (it submitted, or answered without calling a tool where the configuration says
// that this ends a turn), at a limit, with a question for the person, or by a failure. A turn
// that failed, or was interrupted by the end of its process, stays open: its events are
// kept, and a turn without words tries it again, from its last journalled event. No answer
// is paid for twice, and no action that has ended runs twice. If it failed by a reply, such
// as one that a filter has emptied, or one format error too many, that reply is dropped, and
// the model is asked again. Words instead begin the next turn: the model sees the
// known part of the open one, and then the words, after the words of turns that failed before
// their first request.
//
// Limits of steps, cost and time, and format errors in a row, count for each turn by itself:
// in a turn that begins after one that reached a limit, the agent may do as much again. All
// tries of one turn share its limits. [Input.Reserve] limits the cost of a whole session.
//
// # Saving
//
// Each event is in the store before the next paid or irreversible act. A [Store] is a
// journal: the whole session follows from its records.
//
// Its API is not promised to other programs: see package batch.
package session
