package trajectory

import (
	"encoding/json"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

// View is one attempt in the form for people.
type View struct {
	Dir      string          `json:"directory"` // the run directory; empty if unknown
	Instance string          `json:"instance_id"`
	Dataset  string          `json:"dataset"`  // empty if unknown
	Model    string          `json:"model"`    // as requested, or from the configuration
	Form     string          `json:"form"`     // of the file or the journal: "batch", "mini-swe-agent", "swe-agent" or "atif"
	Attempt  int             `json:"attempt"`  // 0: of another tool
	Attempts int             `json:"attempts"` // at this instance so far
	Info     results.Info    `json:"-"`
	Record   *results.Record `json:"record"` // nil: not known
	Running  bool            `json:"running"`
	Unmasked bool            `json:"unmasked"` // a part of it was never searched for secrets: see [journal.Shown]

	Messages []json.RawMessage `json:"-"` // the trajectory's; Step.Reply and Action.Answer are indexes
	Begin    int               `json:"-"` // index of the first message that was not forgotten

	Prompts []Message `json:"prompts"` // before the first step
	Steps   []Step    `json:"steps"`
	Patch   *Patch    `json:"patch"`          // nil: there is none
	Exit    *Exit     `json:"end"`            // nil while it runs, and if the file has none
	Asked   time.Time `json:"asked,omitzero"` // time of a call that is running, or had no answer; otherwise zero
}

// viewIn reads the whole attempt from its journal. Damage in it is an error.
func viewIn(a *journal.Attempt, id string, m *mask.Masker) (*View, error) {
	r, err := readSteps(a, 1, len(a.Steps), Options{Clip: -1, whole: true}, m)
	if err != nil {
		return nil, err
	}
	p := r.page(len(a.Steps))
	v := &View{
		Instance: id, Form: "batch", Attempt: a.Number, Attempts: a.Number, Unmasked: a.Unmasked, Asked: a.Asked(),
		Prompts: p.Prompts, Messages: r.prompts.messages,
	}
	if r.cleared == &r.prompts.talk {
		v.Begin = min(r.cleared.cleared, len(r.cleared.messages))
	}
	if p.End != nil {
		v.Exit = &Exit{p.End.Status, p.End.Reason, p.End.Hint}
	}
	for i, s := range p.Steps {
		if of := &r.steps[i].talk; r.cleared == of {
			v.Begin = len(v.Messages) + min(of.cleared, len(of.messages))
		}
		v.add(s, r.steps[i].messages)
	}
	v.Info.BatchVersion, v.Info.Config = results.ConfigOf(r.opened, "")
	if a.Ended() {
		r.end(p, a)
		v.ended(p.End.Record)
	}
	patch, salvaged, err := a.Patch()
	if patch != nil {
		v.Patch = &Patch{m.Bytes(patch), salvaged}
	}
	if err == nil && len(p.Problems) > 0 {
		err = fault.Newf(fault.Instance, "the journal of %s is damaged at byte %d: %s", id, p.Problems[0].Offset, p.Problems[0].Text)
	}
	return v, err
}

// add adds a step with its messages.
func (v *View) add(s Step, messages []json.RawMessage) {
	before := len(v.Messages)
	if s.Reply >= 0 {
		s.Reply += before
	}
	for i := range s.Actions {
		if a := &s.Actions[i]; a.Answer > 0 {
			a.Answer += before
		}
	}
	v.Steps, v.Messages = append(v.Steps, s), append(v.Messages, messages...)
}

// ended adds what the record of an attempt that has ended says.
func (v *View) ended(r *results.Record) {
	if r == nil {
		return
	}
	v.Record, v.Model = r, r.Model
	v.Info.ExitStatus, v.Info.Exception = r.Status, r.Error
	v.Info.ModelStats = results.ModelStats{Cost: r.Cost, Calls: r.Steps}
}

// Patch is an attempt's submission, or the salvaged patch if it did not submit: its working tree's
// diff. In a [View] secrets are hidden in it; [Source.Patch] reads every byte.
type Patch struct {
	Text     []byte
	Salvaged bool
}

// Message is a text of the conversation and its author's role, or the name of an interrupt.
type Message struct {
	Role   string  `json:"role"`
	Text   string  `json:"text"`
	Images []Image `json:"images,omitempty"`
}

// Step is one call of the model and its results.
type Step struct {
	journal.Mark
	Reply     int       `json:"-"`                 // index in View.Messages, of the reply or of the error that refused it; -1: neither yet
	Refused   bool      `json:"refused,omitempty"` // the reply did not become part of the conversation
	Rewrites  []Rewrite `json:"rewrites,omitempty"`
	Thought   string    `json:"thought"`             // the model's text, without its commands
	Reasoning string    `json:"reasoning,omitempty"` // text that the provider keeps apart
	Actions   []Action  `json:"results,omitempty"`
	Notes     []Message `json:"notes,omitempty"` // between its actions and the next call: a format error, a person's words

	Priced     bool              `json:"priced"`                // whether Cost is known
	Usage      *vocab.Usage      `json:"usage,omitempty"`       // nil: not known
	CacheShare *float64          `json:"cache_share,omitempty"` // cached tokens of the input tokens; nil: not known
	Model      string            `json:"model_id,omitempty"`    // as the provider names it
	Finish     string            `json:"finish_reason,omitempty"`
	Tokens     int64             `json:"request_tokens,omitempty"` // of the request, by an estimate
	LostCalls  int               `json:"lost_calls,omitempty"`     // tries without an answer
	LostCost   float64           `json:"lost_cost,omitempty"`      // their estimated cost
	Problems   []journal.Problem `json:"problems,omitempty"`
}

// Action is a command, or a call of another tool.
type Action struct {
	Number   int      `json:"action"`         // of its step, from 1
	Tool     string   `json:"tool,omitempty"` // empty: the shell
	Command  string   `json:"command"`
	Answer   int      `json:"-"` // index in View.Messages of the message with its output; 0: none
	State    State    `json:"state"`
	Exit     *int     `json:"exit_code,omitempty"` // nil: not known
	Seconds  float64  `json:"seconds,omitempty"`   // 0: not known
	Timeout  float64  `json:"timeout,omitempty"`   // the limit, in seconds
	TimedOut bool     `json:"timed_out,omitempty"`
	OOM      bool     `json:"oom,omitempty"`
	Note     string   `json:"note,omitempty"`    // a failure around it, for the model to read: a time-out, no memory
	Output   string   `json:"output"`            // its beginning and its end, if it is clipped
	Clipped  int64    `json:"clipped,omitempty"` // bytes that were left out in its middle
	Kept     int64    `json:"kept_bytes"`        // bytes of the output that there are
	Total    int64    `json:"total_bytes"`       // bytes that the command wrote
	Binary   bool     `json:"binary,omitempty"`  // some bytes are not UTF-8
	Images   []Image  `json:"images,omitempty"`  // that the model was shown of it
	Again    []Replay `json:"again,omitempty"`   // other outputs when it ran again

	id string // of the tool call
}

// printed sets the output. Hidden is the number of its bytes that were not kept.
func (a *Action) printed(kept string, hidden int64) {
	a.Output, a.Kept, a.Total = kept, int64(len(kept)), int64(len(kept))+hidden
}

// State says how far an action is.
type State string

// The states of an action.
const (
	Unknown   State = "unknown"   // not in the file
	Running   State = "running"   // under way, or interrupted
	Done      State = "done"      // it ended
	Submitted State = "submitted" // it ended, and its output is the submission
)

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
	Edits    []Edited             `json:"edits,omitempty"` // only where the texts are asked for

	edits []journal.Edit
}

// Edited has the messages that replaced the ones from index From up to, but not including, To.
type Edited struct {
	From     int       `json:"from"`
	To       int       `json:"to"`
	Messages []Message `json:"messages"`
}

// Exit is how the attempt ended, in the words of its last message.
type Exit struct {
	Status vocab.Status `json:"exit_status"`
	Reason string       `json:"reason,omitempty"` // empty if the status says everything
	Hint   string       `json:"hint,omitempty"`
}
