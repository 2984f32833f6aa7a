package journal

import (
	"encoding/json"
	"strings"
	"time"
)

// Mark has the facts about a step that are at the beginnings of its records: enough for a bar
// over the steps, and to jump.
type Mark struct {
	Number   int       `json:"step"`           // from 1, in the attempt
	Turn     int       `json:"turn,omitempty"` // of a conversation, from 1
	Asked    time.Time `json:"asked,omitzero"` // when the call was made
	Answered time.Time `json:"answered,omitzero"`

	Seconds  float64 `json:"seconds"`           // of the call
	Waited   float64 `json:"waited,omitempty"`  // part of Seconds, for rate limits and retries
	Limited  float64 `json:"limited,omitempty"` // part of Waited, for rate limits alone
	Commands float64 `json:"command_seconds"`   // of its commands
	Other    float64 `json:"other_seconds"`     // until the next call: neither calls nor commands; 0 if it was stopped in between

	Cost        float64 `json:"cost"`                   // US dollars of the call
	SummaryCost float64 `json:"summary_cost,omitempty"` // of calls for summaries just before it

	Input  int64 `json:"input_tokens"`
	Cached int64 `json:"cached_tokens"` // part of Input
	Output int64 `json:"output_tokens"`

	Actions     int   `json:"actions"`         // started ones
	OutputBytes int64 `json:"output_bytes"`    // that they wrote
	Tries       int   `json:"tries,omitempty"` // repeated tries of the call
	Flags       Flags `json:"flags"`
}

// Flags say what happened in a step.
type Flags uint16

// The flags.
const (
	FlagFailed      Flags = 1 << iota // a command had an exit code other than 0
	FlagTimedOut                      // a command was killed at its time limit
	FlagOOM                           // a command's container had no memory left
	FlagFormatError                   // the reply was refused: it had no valid command
	FlagEdit                          // a command seems to change a file: see [ChangesFile]
	FlagSubmission                    // it submitted
	FlagRewritten                     // the conversation was shortened just before the call
	FlagWords                         // a person's words followed
	FlagDiffers                       // a command had another output when it ran again
	FlagLost                          // a try of the call was not answered
	FlagCleared                       // the conversation was forgotten after it
	FlagRunning                       // a command runs, or was interrupted
)

var flagNames = []string{
	"failed", "timeout", "oom", "format_error", "edit", "submission", "rewrite", "words",
	"differs", "lost", "cleared", "running",
}

// Has reports whether f has all flags of g.
func (f Flags) Has(g Flags) bool { return f&g == g }

// Names returns the flags' names.
func (f Flags) Names() []string {
	names := []string{}
	for i, name := range flagNames {
		if f&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// FlagNamed returns the flag with a name, and whether there is one.
func FlagNamed(name string) (Flags, bool) {
	for i, n := range flagNames {
		if n == name {
			return 1 << i, true
		}
	}
	return 0, false
}

// String returns the names, separated by commas.
func (f Flags) String() string { return strings.Join(f.Names(), ",") }

// MarshalJSON writes the list of names.
func (f Flags) MarshalJSON() ([]byte, error) { return json.Marshal(f.Names()) }

// UnmarshalJSON reads the list of names. Unknown ones are left out.
func (f *Flags) UnmarshalJSON(text []byte) error {
	var names []string
	err := json.Unmarshal(text, &names)
	*f = 0
	for _, name := range names {
		flag, _ := FlagNamed(name)
		*f |= flag
	}
	return err
}

// Flag adds f if it holds.
func (m *Mark) Flag(f Flags, holds bool) {
	if holds {
		m.Flags |= f
	}
}
