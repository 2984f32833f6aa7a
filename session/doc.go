// Package session is a conversation with an agent that outlives a turn and a process. A
// [Session] has the identity, the state and the history; [agent.Loop] runs one turn over
// the messages that it is handed, and keeps nothing. An attempt of a batch run is a session
// with one turn.
//
// # Life
//
// A session is created by [New], made ready by [Session.Start], which also loads what was
// kept of it, busy while a [Turn] runs, paused, and shut down. Start after a pause loads
// nothing again. After a shutdown, another Session continues with what the store has, in the
// same process or another.
//
// # Turns
//
// A turn is the agent's work on a person's words. It ends in one of four ways:
// finished (it submitted, or answered without calling a tool where the configuration says
// that this ends a turn), at a limit, with a question for the person, or by a failure. A turn
// that failed, or was interrupted by the end of its process, stays open: what it did is
// kept, and a turn without words tries it again, from its last journalled event. No answer
// is paid for twice, and no action that has ended runs twice. If it failed by a reply, such
// as one that a filter has emptied, or one format error too many, that reply is done with,
// and the model is asked again. Words instead begin the next turn: the model sees the
// known part of the open one, and then the words, after the words of turns that failed before
// their first request.
//
// Limits of steps, cost and time, and format errors in a row, count for each turn by itself:
// in a turn that begins after one that reached a limit, the agent may do as much again. All
// tries of one turn share its limits. What a whole session may cost, [Input.Reserve] limits.
//
// # Saving
//
// Each event is in the store before the next paid or irreversible act. A [Store] is a
// journal: its records say all that a session has.
//
// # Events
//
// Any number of listeners read what a turn does by [Turn.Events], each at its own speed and
// from the beginning: see there for what that costs.
package session
