package trajectory

import (
	"time"

	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

// Overview is an attempt without its texts.
type Overview struct {
	Instance string                 `json:"instance"`
	Form     string                 `json:"form"`    // "journal", "batch", "mini-swe-agent", "swe-agent" or "atif"
	Attempt  int                    `json:"attempt"` // 0: of another tool
	Attempts []journal.AttemptState `json:"attempts,omitempty"`
	Model    string                 `json:"model,omitempty"` // only of a file

	Began   time.Time `json:"began,omitzero"`
	Last    time.Time `json:"last,omitzero"` // of the last record
	Ended   bool      `json:"ended"`
	Resumed int       `json:"resumed,omitempty"` // how often
	// Unmasked: a part of it was never searched for secrets, see [journal.Shown].
	Unmasked bool         `json:"unmasked,omitempty"`
	Now      *journal.Now `json:"now,omitempty"` // nil after the end, and if it is not known

	Marks    []journal.Mark     `json:"steps"`
	Turns    []journal.TurnMark `json:"turns,omitempty"`
	Problems []journal.Problem  `json:"problems,omitempty"`
	Size     int64              `json:"bytes"` // of the file that was read
}

// Page has some steps of an attempt in full.
type Page struct {
	From     int               `json:"from"`              // number of the first step
	Steps    []Step            `json:"steps"`             // empty if there are none
	Total    int               `json:"total"`             // steps in the attempt
	Prompts  []Message         `json:"prompts,omitempty"` // before the first step, if the page has it
	End      *End              `json:"end,omitempty"`     // with the last step, if the attempt has ended
	Problems []journal.Problem `json:"problems,omitempty"`
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
	Notes    []Message `json:"notes,omitempty"`
}

// Shown is the text that the model was sent about an action.
type Shown struct {
	Action  int    `json:"action"`
	Text    string `json:"text"`
	Differs bool   `json:"differs"` // the output is not in Text as it was written
	Cut     bool   `json:"cut"`     // a part of the output was left out in Text
	Kept    bool   `json:"kept"`    // the whole output is known
}
