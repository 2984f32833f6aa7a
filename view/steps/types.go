package steps

import (
	"time"

	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

// Overview is an attempt without its texts.
type Overview struct {
	Instance string         `json:"instance"`
	Form     string         `json:"form"`    // "journal", "batch", "mini-swe-agent", "swe-agent" or "atif"
	Attempt  int            `json:"attempt"` // 0: of another tool
	Attempts []AttemptState `json:"attempts,omitempty"`
	Model    string         `json:"model,omitempty"` // only of a file

	Began   time.Time `json:"began,omitzero"`
	Last    time.Time `json:"last,omitzero"` // of the last record
	Ended   bool      `json:"ended"`
	Resumed int       `json:"resumed,omitempty"` // how often
	// Unmasked: nobody has looked for secrets in a part of it, see [journal.Shown].
	Unmasked bool `json:"unmasked,omitempty"`
	Now      *Now `json:"now,omitempty"` // nil after the end, and if it is not known

	Marks    []Mark    `json:"steps"`
	Turns    []Turn    `json:"turns,omitempty"`
	Problems []Problem `json:"problems,omitempty"`
	Size     int64     `json:"bytes"` // of the file that was read
}

// AttemptState is one of the attempts in a journal.
type AttemptState struct {
	Number int       `json:"attempt"`
	Steps  int       `json:"steps"`
	Began  time.Time `json:"began,omitzero"`
	Last   time.Time `json:"last,omitzero"` // of its last record
	Ended  bool      `json:"ended"`
	Reset  bool      `json:"reset,omitempty"` // a person asked to forget its result
	Cost   float64   `json:"cost"`

	Unmasked bool `json:"unmasked,omitempty"` // see Overview
}

// Now says what an attempt that has not ended did last. Whether its process still runs is not
// in a journal.
type Now struct {
	Does   string    `json:"does"` // "call", "try", "command" or "think" (between them)
	Since  time.Time `json:"since"`
	Step   int       `json:"step"`
	Action int       `json:"action,omitempty"` // of a command
}

// Turn is a turn of a conversation.
type Turn struct {
	Number int       `json:"turn"`
	Step   int       `json:"step"` // its first step, if it has any
	Began  time.Time `json:"began"`
	Ended  time.Time `json:"ended,omitzero"`
	End    string    `json:"end,omitempty"` // see journal.TurnEnd
}

// Problem is damage in a file that was read around.
type Problem struct {
	Offset int64  `json:"offset"`
	Text   string `json:"text"`
}

// Text is a text of the conversation and its author's role, or the name of an interrupt.
type Text struct {
	Role string `json:"role"`
	Text string `json:"text"`
}

// Page has some steps of an attempt in full.
type Page struct {
	From     int       `json:"from"`              // number of the first step
	Steps    []Step    `json:"steps"`             // empty if there are none
	Total    int       `json:"total"`             // steps in the attempt
	Prompts  []Text    `json:"prompts,omitempty"` // before the first step, if the page has it
	End      *End      `json:"end,omitempty"`     // with the last step, if the attempt has ended
	Problems []Problem `json:"problems,omitempty"`
}

// End is how an attempt ended.
type End struct {
	Status     vocab.Status    `json:"status"`
	Reason     string          `json:"reason,omitempty"` // empty if the status says everything
	Hint       string          `json:"hint,omitempty"`
	Record     *results.Record `json:"record,omitempty"`
	Submission string          `json:"submission,omitempty"` // clipped as outputs are
	Bytes      int             `json:"submission_bytes"`
	Salvaged   bool            `json:"salvaged,omitempty"` // Submission is the working tree's diff
}

// Step is one call of the model and its results.
type Step struct {
	Mark
	Refused   bool      `json:"refused,omitempty"` // the reply did not become part of the conversation
	Rewrites  []Rewrite `json:"rewrites,omitempty"`
	Thought   string    `json:"thought"`             // the model's text, without its commands
	Reasoning string    `json:"reasoning,omitempty"` // text that the provider keeps apart
	Actions   []Action  `json:"results,omitempty"`
	Notes     []Text    `json:"notes,omitempty"` // messages before the next call: a format error, a person's words

	Priced     bool         `json:"priced"` // whether Cost is known
	Usage      *vocab.Usage `json:"usage,omitempty"`
	CacheShare *float64     `json:"cache_share,omitempty"` // cached tokens of the input tokens; nil: not known
	Model      string       `json:"model_id,omitempty"`    // as the provider names it
	Finish     string       `json:"finish_reason,omitempty"`
	Tokens     int64        `json:"request_tokens,omitempty"` // of the request, by an estimate
	LostCalls  int          `json:"lost_calls,omitempty"`     // tries without an answer
	LostCost   float64      `json:"lost_cost,omitempty"`      // their estimated cost
	Problems   []Problem    `json:"problems,omitempty"`
}

// Action is a command, or a call of another tool.
type Action struct {
	Number   int      `json:"action"`         // of its step, from 1
	Tool     string   `json:"tool,omitempty"` // empty: the shell
	Command  string   `json:"command"`
	State    string   `json:"state"`               // "unknown", "running", "done" or "submitted"
	Exit     *int     `json:"exit_code,omitempty"` // nil: not known
	Seconds  float64  `json:"seconds,omitempty"`
	Timeout  float64  `json:"timeout,omitempty"` // the limit, in seconds
	TimedOut bool     `json:"timed_out,omitempty"`
	OOM      bool     `json:"oom,omitempty"`
	Note     string   `json:"note,omitempty"`    // a failure around it, for the model to read
	Output   string   `json:"output"`            // its beginning and its end, if it is clipped
	Clipped  int64    `json:"clipped,omitempty"` // bytes that were left out in its middle
	Kept     int64    `json:"kept_bytes"`        // bytes of the output that there are
	Total    int64    `json:"total_bytes"`       // bytes that the command wrote
	Binary   bool     `json:"binary,omitempty"`  // some bytes are not UTF-8
	Again    []Replay `json:"again,omitempty"`   // other outputs when it ran again
}

// Replay is another result of a command that ran again in a new container.
type Replay struct {
	Exit   int    `json:"exit_code"`
	Output string `json:"output"` // clipped; perhaps only the beginning
	Total  int64  `json:"total_bytes"`
}

// Rewrite says that a part of what the model is sent was replaced, from a step's call on.
type Rewrite struct {
	Policy   string               `json:"policy"`
	Refused  bool                 `json:"refused,omitempty"` // the provider had found the conversation too long
	Before   int64                `json:"tokens_before"`
	After    int64                `json:"tokens_after"`
	Messages int                  `json:"messages"` // how many were replaced
	Summary  *results.SummaryCall `json:"summary,omitempty"`
	Edits    []Edited             `json:"edits,omitempty"` // only from [Attempt.Sent]
}

// Edited has the messages that replaced the ones from index From up to, but not including, To.
type Edited struct {
	From     int    `json:"from"`
	To       int    `json:"to"`
	Messages []Text `json:"messages"`
}

// Output has the bytes that were kept of a command's output.
type Output struct {
	Bytes  []byte `json:"bytes"`  // exact, except for secrets; base64 in JSON
	Total  int64  `json:"total"`  // bytes that the command wrote
	Cut    bool   `json:"cut"`    // fewer are kept: the beginning and the end
	At     int64  `json:"at"`     // where the middle is missing, if Cut: offset in Bytes, at most
	Hidden bool   `json:"hidden"` // secrets are hidden in Bytes
}

// Sent has the texts that the model was sent about a step's results, and says how the conversation before the
// step was rewritten.
type Sent struct {
	Step     int       `json:"step"`
	Rewrites []Rewrite `json:"rewrites,omitempty"`
	Shown    []Shown   `json:"shown,omitempty"` // one for each action that has an answer
	Notes    []Text    `json:"notes,omitempty"`
}

// Shown is the text that the model was sent about an action.
type Shown struct {
	Action  int    `json:"action"`
	Text    string `json:"text"`
	Differs bool   `json:"differs"` // the output is not in Text as it was written
	Cut     bool   `json:"cut"`     // a part of the output was left out in Text
	Kept    bool   `json:"kept"`    // the whole output is known
}
