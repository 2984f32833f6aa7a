package trajectory

import (
	"encoding/json"
	"time"

	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

// View is one attempt in the form for people.
type View struct {
	Dir      string // the run directory; empty if unknown
	Instance string
	Dataset  string // empty if unknown
	Model    string // as requested, or from the configuration
	Form     string // of the file or the journal: "batch", "mini-swe-agent", "swe-agent" or "atif"
	Attempt  int    // 0: of another tool
	Attempts int    // at this instance so far
	Info     results.Info
	Record   *results.Record // nil: not known
	Running  bool
	Unmasked bool // nobody has looked for secrets in a part of it: see [journal.Shown]

	Messages []json.RawMessage // the trajectory's; Step.Reply and Action.Answer are indexes

	Prompts []Message // before the first step
	Steps   []Step
	Patch   *Patch    // nil: there is none
	Exit    *Exit     // nil while it runs, and if the file has none
	Asked   time.Time // time of a call that is running, or had no answer; otherwise zero
}

// Patch is an attempt's submission, or the salvaged patch if it did not submit: its working tree's
// diff. In a [View] the secrets that the run knew are hidden in it; [Source.Patch] reads every byte.
type Patch struct {
	Text     []byte
	Salvaged bool
}

// Message is a text of the conversation and its author's role.
type Message struct{ Role, Text string }

// Step is one call of the model and its results.
type Step struct {
	Number    int
	Reply     int               // index in View.Messages, of the reply or of the error that refused it; -1: neither yet
	Refused   bool              // the reply did not become part of the conversation
	Rewrites  []results.Rewrite // of the conversation, just before the call
	Thought   string            // the model's text, without its commands
	Reasoning string            // text that the provider keeps apart
	Actions   []Action
	Notes     []Message // messages between its actions and the next call: a format error, a person's words

	Cost    *float64     // US dollars; nil: not known
	Usage   *vocab.Usage // nil: not known
	Asked   time.Time    // when the call was made; zero: not known
	Seconds float64      // of the call; 0: not known
	Waited  float64      // part of Seconds, for rate limits and retries
}

// Action is a command, or a call of another tool.
type Action struct {
	Tool    string // empty: the shell
	Command string
	Answer  int // index in View.Messages of the message with its output; 0: none
	Output  string
	Hidden  int64 // bytes of the output that were not kept
	State   State
	Exit    *int    // exit code; nil: not known
	Seconds float64 // 0: not known
	Note    string  // a failure around it: a time-out, no memory

	id string // of the tool call
}

// State says how far an action is.
type State int

// The states of an action.
const (
	Unknown   State = iota // not in the file
	Running                // under way, or interrupted
	Done                   // it ended
	Submitted              // it ended, and its output is the submission
)

// Exit is how the attempt ended, in the words of its last message.
type Exit struct {
	Status vocab.Status
	Reason string // empty if the status says everything
	Hint   string
}
