// Package chat puts a person into an agent's conversation: it shows the agent's words and actions,
// asks before each action, takes the person's words, commands and interruptions, and ends or leaves
// the conversation when the person says so. [Chat.Talk] is a [attempt.Talk], so a chat is an
// ordinary attempt of a run, with journal, resume, limits and result.
//
// A person is reached through a [Face]: [NewTerminal] is for a terminal that sends whole
// lines, and [NewLines] for a program that reads and writes JSON lines.
//
// # Modes
//
// The modes are the same as in mini-swe-agent's interactive agent. In mode confirm, actions wait
// for the person unless a whitelisted pattern matches their beginning. In mode yolo they do not
// wait. In mode human the person's commands replace the model's replies, at no cost; the model
// later sees them as its own calls.
//
// # Interruption
//
// [Chat.Interrupt] stops the agent. A command is killed with all its processes. A model call is
// given up, and counts as paid since the provider may charge it. Then the person may say something,
// or let the agent continue.
//
// The person is not asked again about an action that was running when the process was killed: they
// have already approved it. They see it when the conversation opens ([Opened]). A command's result
// comes from the container, where the command may still run. If the container is gone, the command
// is started again in mode yolo, as in a run that is resumed. In the other modes, and for an action
// that is not a command, the model reads that the result is unknown.
//
// Its API is not promised to other programs: see package batch.
package chat
