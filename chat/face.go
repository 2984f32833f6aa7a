package chat

import (
	"batch.example/batch/session"
)

// Face shows a conversation to a person, and reads what the person sends. Its methods are
// called by one goroutine at a time, except Refuse, which any may call.
type Face interface {
	Opened(o Opened)
	Event(e session.Event)
	Ask(q Question)
	// Parse reads a line as the answer to q. More says that the next line belongs to it.
	Parse(line string, q Question) (in Input, more bool, err error)
	Refuse(err error)  // says what is wrong with a line
	Note(text string)  // says something about the conversation
	Diff(patch []byte) // shows the working tree's diff
	History(list []session.Message)
	Help()
	Interrupted() // shows that the agent was stopped

	// Eager says that lines are read while the agent works, so that they can interrupt it.
	Eager() bool
	// Forget drops what the person has typed before a question was shown.
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
	Turns     int     `json:"turns"`   // so far
	Adopted   bool    `json:"adopted"` // the container is the one from before the interruption
	Resumed   bool    `json:"resumed"`
	Retry     bool    `json:"retry"` // the last turn failed or was interrupted
	Spent     float64 `json:"cost"`

	Differences []Difference `json:"differences,omitempty"`

	Cut *Cut `json:"cut,omitempty"` // the action that was running when the process before ended
}

// Cut is an action that was running when its process ended. If it is Lost, a command is started
// again when the turn continues in mode yolo. Otherwise, no action is.
type Cut struct {
	Command string `json:"command,omitempty"`
	Tool    string `json:"tool,omitempty"` // if there is no command

	// Lost says that its result is not known. Otherwise it continues in the container, or has
	// ended there: when the turn continues, its result comes first.
	Lost bool `json:"lost"`
}

// again reports whether the action is started again when the turn continues in a mode. A command
// whose container is gone is, as in a run, where the person has said that they are not asked.
func (c *Cut) again(m Mode) bool { return m == Yolo && c.Lost && c.Command != "" }

// Difference is a recorded action that did something else when it ran again in a new
// container.
type Difference struct {
	Step     int    `json:"step"`
	Command  string `json:"command"`
	ExitCode int    `json:"exit_code"`
	Output   string `json:"output"` // the new one
}
