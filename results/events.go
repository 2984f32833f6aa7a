package results

// Types of journal records, in the order in which an attempt writes them.
// Each one's data is the struct named beside it.
const (
	EventAttempt   = "attempt"   // AttemptData
	EventContainer = "container" // ContainerData
	EventMessages  = "messages"  // MessagesData: appended to the conversation
	EventRequest   = "request"   // RequestData: a paid call is about to be made
	EventReply     = "reply"     // ReplyData: it was answered and is paid for
	EventAction    = "action"    // ActionData: a command is about to run
	EventOutput    = "output"    // OutputData: it ended
	EventInterrupt = "interrupt" // InterruptData: what broke the flow of a step
	EventEnd       = "end"       // Record: the attempt's outcome is on disk
)

// AttemptData opens an attempt.
type AttemptData struct {
	Attempt int    `json:"attempt"`
	Model   string `json:"model"`
	Version string `json:"version"` // of batch
}

// ContainerData says where the attempt runs.
type ContainerData struct {
	Container string `json:"container"`
	Image     string `json:"image"`
	ImageID   string `json:"image_id"`
	Digest    string `json:"digest,omitempty"`
}

// MessagesData holds messages as they stand in the trajectory.
type MessagesData struct {
	Messages any `json:"messages"`
}

// RequestData announces a call; Step counts calls from 1.
type RequestData struct {
	Step   int    `json:"step"`
	Digest string `json:"digest"` // of the request's messages and tools
}

// ReplyData is an answer that was paid for. The sum of Cost over all replies
// in a directory is what it has spent.
type ReplyData struct {
	Step    int     `json:"step"`
	Cost    float64 `json:"cost"` // US dollars
	Usage   Usage   `json:"usage"`
	Model   string  `json:"model"` // id as the provider returned it
	Seconds float64 `json:"seconds"`
	Waited  float64 `json:"waited"` // part of Seconds, for rate limits and retries
	Message any     `json:"message"`
}

// ActionData is a command about to run.
type ActionData struct {
	Step    int    `json:"step"`
	Command string `json:"command"`
}

// OutputData is what a command did. Output is base64 in JSON: its bytes are exact.
type OutputData struct {
	Step     int     `json:"step"`
	Output   []byte  `json:"output"`
	Total    int64   `json:"total"` // bytes written before capping
	ExitCode int     `json:"exit_code"`
	TimedOut bool    `json:"timed_out,omitempty"`
	Seconds  float64 `json:"seconds"`
}

// InterruptData names an interrupt of the agent's control flow.
type InterruptData struct {
	Step int    `json:"step"`
	Name string `json:"name"`
}
