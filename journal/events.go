package journal

import (
	"encoding/json"

	"batch.example/batch/vocab"
)

// ContainerData names the container in which the attempt runs. It contains the effects
// of all actions that were recorded before.
type ContainerData struct {
	Container string `json:"container"`
	Image     string `json:"image"`
	ImageID   string `json:"image_id"`
	Digest    string `json:"digest,omitempty"`
	Base      string `json:"base,omitempty"` // commit that the working tree was at when the agent began

	Commit *CommitData `json:"image_commit,omitempty"` // if that is not the row's base_commit

	Preamble []byte `json:"preamble,omitempty"` // what the shell prints before each output, which is taken off

	Engine string `json:"engine,omitempty"` // its address, if it was named

	Adopted     bool `json:"adopted,omitempty"`     // resumed in the same container as before
	Replayed    int  `json:"replayed,omitempty"`    // otherwise: actions that were executed again in it,
	Differences int  `json:"differences,omitempty"` // and how many of them had a different output

	// Seconds until it was ready.
	Pull    float64 `json:"pull,omitempty"`
	Start   float64 `json:"start,omitempty"`
	Prepare float64 `json:"prepare,omitempty"`
	Replay  float64 `json:"replay,omitempty"`
}

// CommitData says how an image's commit differs from its row's base_commit.
type CommitData struct {
	Head     string   `json:"head"`               // the image's
	Files    []string `json:"files,omitempty"`    // that differ, 100 at most
	Total    int      `json:"total,omitempty"`    // number of files that differ
	Mismatch string   `json:"mismatch,omitempty"` // why it is more than a set-up of the environment; empty if it is not
}

// DifferenceData is the result of an action that had another result when it was executed
// again. Output is base64 in JSON, and may be only the beginning.
type DifferenceData struct {
	Step     int    `json:"step"`
	Action   int    `json:"action"` // of that step, from 1
	Command  string `json:"command"`
	Output   []byte `json:"output"`
	Total    int64  `json:"total"`
	ExitCode int    `json:"exit_code"`
	TimedOut bool   `json:"timed_out,omitempty"`
}

// MessagesData holds messages as the trajectory has them, without the data of other
// records: in extra, raw_output may be {"step":n,"action":n}, which refers to the action's
// output, and response may be {"step":n}, which refers to the reply's response.
type MessagesData struct {
	Messages []json.RawMessage `json:"messages"`
}

// RewriteData replaces parts of the conversation that is sent to the model, from the
// request of Step on. The trajectory's messages stay as they were; the rewrite is in its
// info.
type RewriteData struct {
	Step    int    `json:"step"`
	Policy  string `json:"policy"`
	Refused bool   `json:"refused,omitempty"` // the provider had found the conversation too long
	Before  int64  `json:"tokens_before"`     // estimated tokens of the request
	After   int64  `json:"tokens_after"`
	Summary string `json:"summary,omitempty"` // digest of the call for the summary in it; earlier journals have it
	Edits   []Edit `json:"edits"`             // in order, without overlaps
}

// Edit replaces the messages from index From up to, but not including, To. Indexes count
// only the messages that are sent: a message of the role exit, which ends a turn, is not.
type Edit struct {
	From     int               `json:"from"`
	To       int               `json:"to"`
	Messages []json.RawMessage `json:"messages"`
}

// UnmarshalJSON reads the data of a rewrite record. In old versions it has one edit in
// place of a list.
func (d *RewriteData) UnmarshalJSON(data []byte) error {
	type fields RewriteData
	var r struct {
		fields
		Edit
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	if *d = RewriteData(r.fields); d.Edits == nil {
		d.Edits = []Edit{r.Edit}
	}
	return nil
}

// RequestData announces a call; Step counts calls from 1.
type RequestData struct {
	Step   int    `json:"step"`
	Digest string `json:"digest"`           // of the request's messages and tools
	Tokens int64  `json:"tokens,omitempty"` // how long the request is by an estimate

	// Beside says of a call that is no step that the agent's program made it beside its conversation.
	Beside bool `json:"beside,omitempty"`

	// Reserved is the amount reserved for the call, in US dollars. It counts as spent until
	// the call is answered, or is known not to have been charged.
	Reserved float64 `json:"reserved,omitempty"`
}

// TryData announces another try of the call of a step. The one before ended with [LostData]
// or [UnpaidData].
type TryData struct {
	Step     int     `json:"step"`
	Reserved float64 `json:"reserved,omitempty"` // as in RequestData
}

// UnpaidData says that the last try of a step's call failed and was not charged.
type UnpaidData struct {
	Step int `json:"step"`
}

// SummaryRequestData announces a call that is no step. Step is the step of the next request.
type SummaryRequestData = RequestData

// SummaryData is the answer to a call that is no step, which Digest identifies.
type SummaryData struct {
	Step   int       `json:"step"`
	Digest string    `json:"digest"`
	Reply  ReplyData `json:"reply"`
}

// ReplyData is a paid answer. A directory has spent the sum of Cost over its replies and
// summaries.
type ReplyData struct {
	Step    int         `json:"step"`
	Cost    float64     `json:"cost"` // US dollars
	Usage   vocab.Usage `json:"usage"`
	Model   string      `json:"model"` // id as the provider returned it
	Seconds float64     `json:"seconds"`
	Waited  float64     `json:"waited"`            // part of Seconds, for rate limits and retries
	Limited *float64    `json:"limited,omitempty"` // part of Waited, for rate limits; nil in old versions, see RateLimited

	Message      json.RawMessage `json:"message"`
	FinishReason string          `json:"finish_reason,omitempty"`
	Priced       bool            `json:"priced"`             // whether Cost is known
	Response     json.RawMessage `json:"response,omitempty"` // the provider's answer unchanged, or only its known parts
}

// RateLimited is the part of Waited that was for rate limits. Versions that did not record
// it counted all of Waited.
func (r *ReplyData) RateLimited() float64 {
	if r.Limited == nil {
		return r.Waited
	}
	return *r.Limited
}

// LostData describes calls that were not answered but may have been charged, the last try
// included. Cost is their estimated cost, in US dollars.
type LostData struct {
	Step  int     `json:"step"`
	Calls int     `json:"calls"`
	Cost  float64 `json:"cost"`
}

// ActionData is a command about to run, or one that has run and changes nothing.
type ActionData struct {
	Step    int    `json:"step"`
	Action  int    `json:"action"` // of the reply, from 1
	Command string `json:"command"`
	Tool    string `json:"tool,omitempty"` // the tool's name, if there is no command
}

// OutputData is the result of a command.
type OutputData struct {
	Step   int `json:"step"`
	Action int `json:"action"`
	vocab.Output
	Timeout float64 `json:"timeout,omitempty"` // the limit that applied, in seconds
	Seconds float64 `json:"seconds"`
	SHA256  string  `json:"sha256"` // of the bytes that the agent had, which may be more than Kept

	// Kept are the output's bytes, or their beginning and end: base64 in JSON, exact,
	// and the last member. Output.Bytes is not written.
	Kept []byte `json:"output"`
}

// Picture is [vocab.Output.Picture] of the bytes that are kept.
func (d OutputData) Picture() []byte {
	d.Bytes = d.Kept
	return d.Output.Picture()
}

// InterruptData names an interrupt of the agent's control flow.
type InterruptData struct {
	Step int          `json:"step"`
	Name vocab.Status `json:"name"`
}

// SalvageData holds the working tree's diff of an attempt that did not submit, byte for
// byte (base64 in JSON). Null means that an earlier one no longer applies.
type SalvageData struct {
	Patch []byte `json:"patch"`
}

// SubmissionData holds what the agent submitted, byte for byte (base64 in JSON). Null
// means that an earlier one no longer applies.
type SubmissionData struct {
	Submission []byte `json:"submission"`
}
