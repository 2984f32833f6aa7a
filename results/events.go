package results

import "encoding/json"

// ContainerData says where the attempt runs, and that everything which the
// actions recorded so far did is there.
type ContainerData struct {
	Container string `json:"container"`
	Image     string `json:"image"`
	ImageID   string `json:"image_id"`
	Digest    string `json:"digest,omitempty"`
	Base      string `json:"base,omitempty"` // commit that the work tree was at when the agent began

	Adopted     bool `json:"adopted,omitempty"`     // of an attempt gone on with: it is the one from before
	Replayed    int  `json:"replayed,omitempty"`    // else: actions that were executed again in it,
	Differences int  `json:"differences,omitempty"` // and those of them with another output
}

// DifferenceData is what an action did when it was executed again and did not
// do what is recorded. Output is base64 in JSON, and perhaps its beginning only.
type DifferenceData struct {
	Step     int    `json:"step"`
	Action   int    `json:"action"` // of that step, from 1
	Command  string `json:"command"`
	Output   []byte `json:"output"`
	Total    int64  `json:"total"`
	ExitCode int    `json:"exit_code"`
	TimedOut bool   `json:"timed_out,omitempty"`
}

// MessagesData holds messages as they stand in the trajectory.
type MessagesData struct {
	Messages []json.RawMessage `json:"messages"`
}

// RequestData announces a call; Step counts calls from 1.
type RequestData struct {
	Step   int    `json:"step"`
	Digest string `json:"digest"` // of the request's messages and tools

	// Reserved is what a limited budget set aside for the call, in US dollars.
	// It counts as spent when a crash took the answer, and only then.
	Reserved float64 `json:"reserved,omitempty"`
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

	Message      json.RawMessage `json:"message"`
	FinishReason string          `json:"finish_reason,omitempty"`
	Priced       bool            `json:"priced"`             // whether Cost is known
	Response     json.RawMessage `json:"response,omitempty"` // the provider's answer as it came
}

// ActionData is a command about to run.
type ActionData struct {
	Step    int    `json:"step"`
	Command string `json:"command"`
	Masked  bool   `json:"masked,omitempty"` // it held a secret, and so is not what was executed; set by the journal
}

// OutputData is what a command did. Output is base64 in JSON: its bytes are exact.
type OutputData struct {
	Step     int     `json:"step"`
	Output   []byte  `json:"output"`
	Total    int64   `json:"total"` // bytes written before capping
	ExitCode int     `json:"exit_code"`
	TimedOut bool    `json:"timed_out,omitempty"`
	Timeout  float64 `json:"timeout,omitempty"` // the limit that applied, in seconds
	Seconds  float64 `json:"seconds"`

	// Exact keeps the secrets in Output: it holds a submission.
	Exact bool `json:"-"`
}

// InterruptData names an interrupt of the agent's control flow.
type InterruptData struct {
	Step int    `json:"step"`
	Name string `json:"name"`
}

// SubmissionData holds what the agent handed in, byte for byte (base64 in JSON).
type SubmissionData struct {
	Submission []byte `json:"submission"`
}
