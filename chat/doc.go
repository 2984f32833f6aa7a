// Package chat puts a person into an agent's conversation: it shows what the agent says and
// does, asks before each action, takes the person's words, commands and interruptions, and
// ends or leaves the conversation as the person wants. [Chat.Talk] is a [solver.Talk], so a
// chat is an attempt of a run with all that this has: journal, resume, limits and result.
//
// A person is reached through a [Face]: [NewTerminal] is for a terminal that sends whole
// lines, and [NewLines] for a program that reads and writes JSON lines.
//
// # Modes
//
// As in mini-swe-agent's interactive agent: in mode confirm, actions wait for the person
// unless a whitelisted pattern matches their beginning; in mode yolo they do not; in mode
// human the person's commands take the place of the model's replies, at no cost. The model
// sees them later as its own calls.
//
// # Interruption
//
// [Chat.Interrupt] stops what the agent does. A command is killed with all its processes; a
// model call is given up, and counts as paid since it may be. Then the person may say
// something, or let the agent continue.
//
// The person is not asked again about an action that was running when the process was killed: they
// had approved it. They see it when the conversation opens ([Opened]). A command's result comes
// from the container, where it may still run. If that is gone, the command is started again in mode
// yolo, as in a run that is resumed. In the other modes, and for an action that is not a command, the
// model reads that the result is not known.
package chat
