package chat

import (
	"batch.example/batch/agent"
	"batch.example/batch/attempt/session"
)

// Face shows a conversation to a person, and reads the person's input. Its methods are called by
// one goroutine at a time, except Refuse, which any goroutine may call.
type Face interface {
	Opened(o Opened)
	Began(turn int)
	Event(e agent.Event)
	Ended(res *session.Result)
	Ask(q Question)
	// Parse reads a line as the answer to q. more means that the next line belongs to the same
	// answer.
	Parse(line string, q Question) (in Input, more bool, err error)
	Refuse(err error)  // says what is wrong with a line
	Note(text string)  // says something about the conversation
	Diff(patch []byte) // shows the working tree's diff
	History(list []session.Message)
	Help()
	Interrupted() // shows that the agent was stopped

	// Eager says that lines are read while the agent works, so that they can interrupt it.
	Eager() bool
	// Forget drops the lines that the person typed before a question was shown.
	Forget()
}

// Opened describes a conversation that begins or continues.
type Opened struct {
	Instance  string  `json:"instance"`
	Model     string  `json:"model"`
	Directory string  `json:"directory"`
	Container string  `json:"container"`
	Image     string  `json:"image"`
	Mode      Mode    `json:"mode"`
	Turns     int     `json:"turns"`   // until now
	Adopted   bool    `json:"adopted"` // the container from before the interruption is used
	Resumed   bool    `json:"resumed"`
	Retry     bool    `json:"retry"` // the last turn failed or was interrupted
	Spent     float64 `json:"cost"`

	Differences []Difference `json:"differences,omitempty"`

	Cut *Cut `json:"cut,omitempty"` // the action that was running when the previous process ended
}

// Cut is an action that was running when its process ended. If it is Lost and a command, it is
// started again when the turn continues in mode yolo. Otherwise it is not.
type Cut struct {
	Command string `json:"command,omitempty"`
	Tool    string `json:"tool,omitempty"` // only without a command

	// Lost says that the result is unknown. Otherwise the action still runs in the container, or
	// ended there: its result comes first when the turn continues.
	Lost bool `json:"lost"`
}

// again reports whether the action is started again when the turn continues in mode m. In mode yolo
// the person has agreed that commands run without a question, so a command is repeated if its
// container is gone, as in a run.
func (c *Cut) again(m Mode) bool { return m == Yolo && c.Lost && c.Command != "" }

// Difference is a recorded action that had a different effect when it was repeated in a new
// container.
type Difference struct {
	Step     int    `json:"step"`
	Command  string `json:"command"`
	ExitCode int    `json:"exit_code"`
	Output   string `json:"output"` // of the repetition
}
