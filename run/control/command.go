package control

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"batch.example/batch/fault"
	"batch.example/batch/internal/near"
	"batch.example/batch/vocab"
)

// Verb says which change a [Command] asks for.
type Verb string

// The verbs. Which fields of a Command each needs is beside it.
const (
	SetWidth  Verb = "width"   // Width
	Pause     Verb = "pause"   // no instance begins, and attempts wait before their next paid call
	Resume    Verb = "resume"  // ends Pause
	Drain     Verb = "drain"   // no instance begins any more in this process
	Stop      Verb = "stop"    // ends the work: attempts are saved, and continue later
	Cancel    Verb = "cancel"  // Instance: its attempt ends now, and it does not run again until Requeue
	Requeue   Verb = "requeue" // Instance: it runs again
	SetBudget Verb = "budget"  // Budget, Add
	SetLimit  Verb = "limit"   // Limit, and Instance or all: limits of attempts
	Say       Verb = "say"     // Instance, Text: a person's message before the next call
)

// Verbs are all verbs of commands.
var Verbs = []Verb{SetWidth, Pause, Resume, Drain, Stop, Cancel, Requeue, SetBudget, SetLimit, Say}

// Command is a request to change work.
type Command struct {
	ID       string  `json:"id"`                 // names the command; [NewID] makes one. The same id again is the same command
	Verb     Verb    `json:"verb"`               //
	Instance string  `json:"instance,omitempty"` // ID, or CELL/ID in a sweep
	Width    int     `json:"width,omitempty"`    // at least 1
	Budget   float64 `json:"budget,omitempty"`   // US dollars; without Add, 0 is no limit
	Add      bool    `json:"add,omitempty"`      // Budget is added to the limit
	Limit    Limit   `json:"limit,omitempty"`    //
	Text     string  `json:"text,omitempty"`     // at most [MaxText] bytes of UTF-8
	Program  string  `json:"program,omitempty"`  // that sends it, such as "batch ctl"
}

// MaxText is the length of the longest Text of a [Command], in bytes.
const MaxText = 64 << 10

// Limit has limits of attempts by the names of [vocab.LimitKinds]: steps, cost and seconds. A limit that is
// not in it stays as it is, and 0 is no limit.
type Limit map[string]float64

// UnmarshalJSON leaves out limits that are null: they stay as they are.
func (l *Limit) UnmarshalJSON(text []byte) error {
	var given map[string]*float64
	if err := json.Unmarshal(text, &given); err != nil {
		return err
	}
	*l = nil
	for name, v := range given {
		if v == nil {
			continue
		}
		if *l == nil {
			*l = Limit{}
		}
		(*l)[name] = *v
	}
	return nil
}

// Reply is the answer to a [Command] that was carried out.
type Reply struct {
	Record

	// Repeated says that the command had been carried out before.
	Repeated bool `json:"repeated,omitempty"`

	// Effect says in a sentence what the command does. It has fixed words, ids and numbers.
	Effect string `json:"effect"`
}

// Record is a [Command] in control.jsonl, with who gave it and when.
type Record struct {
	Command
	Seq  int64     `json:"seq"` // in control.jsonl, from 1
	Time time.Time `json:"time"`
	UID  int       `json:"uid"`
	User string    `json:"user,omitempty"` // the name of UID, if it is known
	PID  int       `json:"sender_pid"`     // of the program that sent it; 0: not known
}

// Limits of a [Command].
const (
	maxID    = 100
	maxName  = 1000
	maxWidth = 100_000
)

// check refuses a command that no work can carry out.
func (c Command) check() error {
	switch {
	case c.ID == "" || len(c.ID) > maxID || strings.ContainsFunc(c.ID, outside):
		return fault.Newf(fault.Usage, "a command needs an id of 1 to %d letters, digits and hyphens", maxID)
	case len(c.Instance) > maxName || len(c.Program) > maxName || !utf8.ValidString(c.Instance+c.Program):
		return fault.Newf(fault.Usage, "the instance or the program has a name that is too long, or not UTF-8")
	case !slices.Contains(Verbs, c.Verb):
		return unknownVerb(c.Verb)
	}
	return c.checkArguments()
}

func unknownVerb(v Verb) error {
	names := make([]string, len(Verbs))
	for i, name := range Verbs {
		names[i] = string(name)
	}
	return fault.Newf(fault.Usage, "unknown verb %.40q", string(v)).
		WithHint("%s", near.Hint(near.Name(string(v), names), "expected one of "+strings.Join(names, ", ")))
}

// outside reports whether a letter may not be in an id.
func outside(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-'
}

func (c Command) checkArguments() error {
	switch c.Verb {
	case Cancel, Requeue, Say:
		if c.Instance == "" {
			return fault.Newf(fault.Usage, "%s: which instance?", c.Verb)
		}
	case SetWidth:
		if c.Width < 1 || c.Width > maxWidth {
			return fault.Newf(fault.Usage, "width %d: expected a number from 1 to %d", c.Width, maxWidth)
		}
	case SetBudget:
		if !amount(c.Budget, c.Add) {
			return fault.Newf(fault.Usage, "budget %v: expected a number of US dollars", c.Budget)
		}
	case SetLimit:
		return c.checkLimit()
	}
	if c.Verb == Say && (strings.TrimSpace(c.Text) == "" || len(c.Text) > MaxText || !utf8.ValidString(c.Text)) {
		return fault.Newf(fault.Usage, "say: expected a text of 1 to %d bytes in UTF-8", MaxText)
	}
	return nil
}

func (c Command) checkLimit() error {
	if len(c.Limit) == 0 {
		return fault.Newf(fault.Usage, "limit: which one?").WithHint("step=N, cost=N or time=N")
	}
	for name, v := range c.Limit {
		i := slices.IndexFunc(vocab.LimitKinds, func(k vocab.LimitKind) bool { return k.Name == name })
		switch {
		case i < 0:
			return fault.Newf(fault.Usage, "limit: unknown limit %.40q", name)
		case !(v >= 0): // nor is it NaN
			return fault.Newf(fault.Usage, "limit: expected numbers that are not negative; 0 is no limit")
		case vocab.LimitKinds[i].Whole && v != math.Trunc(v):
			return fault.Newf(fault.Usage, "limit: expected a whole number of %s; 0 is no limit", vocab.LimitKinds[i].Unit)
		case v > vocab.LimitKinds[i].Most:
			return fault.Newf(fault.Usage, "limit: at most %.0f %s; 0 is no limit", vocab.LimitKinds[i].Most, vocab.LimitKinds[i].Unit)
		}
	}
	return nil
}

// amount reports whether a number can be a limit, or with signed, a change of one.
func amount(n float64, signed bool) bool {
	return !math.IsNaN(n) && math.Abs(n) <= 1e12 && (signed || n >= 0)
}
