package trajectory

import (
	"encoding/json"
	"time"

	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

// View is one attempt as a person reads it.
type View struct {
	Dir      string // the run directory; empty where that is not known
	Instance string
	Dataset  string // empty where that is not known
	Model    string // as it was asked for, else as the configuration has it
	Attempt  int    // 0: of another tool
	Attempts int    // at this instance so far
	Info     results.Info
	Record   *results.Record // nil: not known
	Running  bool

	Messages []json.RawMessage // the trajectory's, which Step.Reply and Action.Answer count from 0

	Prompts []Message // before the first step
	Steps   []Step
	Patch   *Patch    // nil: there is none
	Exit    *Exit     // nil while it runs, and where the file has none
	Asked   time.Time // of the call that is under way, or had no answer; else zero
}

// Patch is what an attempt submitted, byte for byte, or what was salvaged from one that did not
// submit: its working tree's diff. In a [View] of an attempt without a journal, secrets are
// hidden in it; [Source.Patch] reads it as it is on disk.
type Patch struct {
	Text     []byte
	Salvaged bool
}

// Message is a text of the conversation and whose it is.
type Message struct{ Role, Text string }

// Step is one call of the model and its results.
type Step struct {
	Number    int
	Reply     int               // which of View.Messages it is, or the one that reports why it was refused; -1: neither yet
	Refused   bool              // the reply did not become part of the conversation
	Rewrites  []results.Rewrite // of what the model was sent, just before the call
	Thought   string            // the model's text, without its commands
	Reasoning string            // that the provider keeps apart
	Actions   []Action
	Notes     []Message // what came between its actions and the next call: a format error, a person's words

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
	Answer  int // which of View.Messages shows the model its output; 0: none does
	Output  string
	Hidden  int64 // bytes of the output that nobody kept
	State   State
	Exit    *int    // exit code; nil: not known
	Seconds float64 // 0: not known
	Note    string  // what went wrong around it: a time-out, no memory

	id string // of the tool call
}

// State says how far an action is.
type State int

// The states of an action.
const (
	Unknown   State = iota // the file says nothing of it
	Running                // under way, or interrupted
	Done                   // it ended
	Submitted              // it ended, and its output is the submission
)

// Exit is how the attempt ended, in the words of its last message.
type Exit struct {
	Status vocab.Status
	Reason string // empty where the status says it all
	Hint   string
}
