package journal

import (
	"encoding/json"

	"batch.example/batch/vocab"
)

// ContainerData says where the attempt runs, and that everything which the
// actions recorded so far did is there.
type ContainerData struct {
	Container string `json:"container"`
	Image     string `json:"image"`
	ImageID   string `json:"image_id"`
	Digest    string `json:"digest,omitempty"`
	Base      string `json:"base,omitempty"` // commit that the work tree was at when the agent began

	Commit *CommitData `json:"image_commit,omitempty"` // where that is not the row's base_commit

	Adopted     bool `json:"adopted,omitempty"`     // of a resumed attempt: it is the one from before
	Replayed    int  `json:"replayed,omitempty"`    // else: actions that were executed again in it,
	Differences int  `json:"differences,omitempty"` // and those of them with another output
}

// CommitData says how an image's commit differs from its row's base_commit.
type CommitData struct {
	Head     string   `json:"head"`               // the image's
	Files    []string `json:"files,omitempty"`    // in which the two differ, 100 at most
	Total    int      `json:"total,omitempty"`    // such files
	Mismatch string   `json:"mismatch,omitempty"` // why it is more than a set-up of the environment; empty where it is not
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

// MessagesData holds messages as they stand in the trajectory, but for what other
// records hold already: in extra, raw_output may be {"step":n,"action":n}, which
// names the action's output, and response may be {"step":n}, which names the
// reply's response.
type MessagesData struct {
	Messages []json.RawMessage `json:"messages"`
}

// RewriteData replaces a part of the conversation that the model is sent: Messages stand
// in the place of those from index From up to To, which it does not include. The
// trajectory keeps what was there, and has Messages behind it.
type RewriteData struct {
	From     int               `json:"from"`
	To       int               `json:"to"`
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
	Step    int         `json:"step"`
	Cost    float64     `json:"cost"` // US dollars
	Usage   vocab.Usage `json:"usage"`
	Model   string      `json:"model"` // id as the provider returned it
	Seconds float64     `json:"seconds"`
	Waited  float64     `json:"waited"` // part of Seconds, for rate limits and retries

	Message      json.RawMessage `json:"message"`
	FinishReason string          `json:"finish_reason,omitempty"`
	Priced       bool            `json:"priced"`             // whether Cost is known
	Response     json.RawMessage `json:"response,omitempty"` // the provider's answer as it came, else what is known of it
}

// LostData tells of calls that were not answered and may have been charged all the
// same. Cost is what they count as, in US dollars, under a limited budget.
type LostData struct {
	Step  int     `json:"step"`
	Calls int     `json:"calls"`
	Cost  float64 `json:"cost"`
}

// ActionData is a command about to run.
type ActionData struct {
	Step    int    `json:"step"`
	Action  int    `json:"action"` // of the reply, from 1
	Command string `json:"command"`
}

// OutputData is what a command did.
type OutputData struct {
	Step   int `json:"step"`
	Action int `json:"action"`
	vocab.Output
	Timeout float64 `json:"timeout,omitempty"` // the limit that applied, in seconds
	Seconds float64 `json:"seconds"`
	SHA256  string  `json:"sha256"` // of the bytes that the agent had, which may be more than are kept

	// Kept are the bytes that the journal holds, or their ends: base64 in JSON, exact,
	// and the last member. Output.Bytes is not written.
	Kept []byte `json:"output"`
}

// InterruptData names an interrupt of the agent's control flow.
type InterruptData struct {
	Step int          `json:"step"`
	Name vocab.Status `json:"name"`
}

// SalvageData holds the work tree's diff of an attempt that did not submit, byte for
// byte (base64 in JSON). A null one says that there is none any more.
type SalvageData struct {
	Patch []byte `json:"patch"`
}

// SubmissionData holds what the agent handed in, byte for byte (base64 in JSON). A null
// one says that there is none any more.
type SubmissionData struct {
	Submission []byte `json:"submission"`
}
